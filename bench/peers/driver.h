#pragma once
// The loops that measure every peer: the same clock reads, the same numbers in the payload, the
// same checks. One template for each peer's port, see port.h.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "bench/copy.h"
#include "bench/peers/port.h"
#include "bench/peers/shared_memory.h"
#include "bench/peers/stage.h"
#include "bench/rounds.h"
#include "bench/run.h"
#include "src/os/clock.h"
#include "src/os/process.h"

namespace beeline::bench::peers {

inline constexpr double kPeerWarmUpSeconds = 0.02;
inline constexpr std::uint64_t kMostPerClock = 64;
// If messages come more slowly than this, each gets a look at the clock.
inline constexpr std::int64_t kSlowMessageNs = 10'000;
inline constexpr std::uint64_t kTakenPerCredit = 16;
inline constexpr double kCopySeconds = 0.1;

template <typename Port>
Result<void> play_rounds_ping(Board& board, Port& port, double seconds) {
  std::uint64_t count = 0;
  const auto round = [&](std::uint32_t) {
    std::uint64_t back = 0;
    if (!port.send(++count, false) || !port.receive(back)) return false;
    return back == count || port.fail("a message came back out of order");
  };
  time_rounds(kPeerWarmUpSeconds, board.rounds, round);
  board.rounds.clear();
  if (port.error()) time_rounds(seconds, board.rounds, round);
  if (port.error()) (void)port.send(kEndCount, false);
  return port.error();
}

template <typename Port>
Result<void> play_rounds_pong(Port& port) {
  for (std::uint64_t count = 1;; ++count) {
    std::uint64_t number = 0;
    if (!port.receive(number) || number == kEndCount) break;
    if (number != count) (void)port.fail("a message came out of order");
    if (!port.error() || !port.send(number, false)) break;
  }
  return port.error();
}

// Sends until the receiver has seen enough, and waits until it has taken the last one.
template <typename Port>
Result<void> play_stream_sender(Stage& stage, Port& port, std::uint32_t sender) {
  std::uint64_t count = 0;
  while (stage.stop.value.load(std::memory_order_relaxed) == 0) {
    if constexpr (Port::kWindow > 0) {
      const auto& taken = stage.taken[sender].count;
      if (count - taken.load(std::memory_order_relaxed) >= Port::kWindow) {
        port.flush();
        os::yield();
        continue;
      }
    }
    if (!port.send(numbered(sender, ++count), true)) return port.error();
  }
  if (port.send(numbered(sender, kEndCount), false)) stage.finished.await(1);
  return port.error();
}

// Counts messages in a window of time that begins once the stream is warm, as the receiver sees
// it; then lets the senders end.
class StreamWatch {
 public:
  StreamWatch(Board& board, Stage& stage, double seconds)
      : board_(board), stage_(stage), length_(static_cast<std::int64_t>(seconds * 1e9)) {}

  // Returns how many messages may be taken before the next look.
  std::uint64_t look(std::uint64_t taken) {
    const std::int64_t now = os::monotonic_ns();
    count(taken, now);
    const bool is_slow = now - last_ns_ > kSlowMessageNs * static_cast<std::int64_t>(step_);
    step_ = is_slow ? 1 : std::min(2 * step_, kMostPerClock);
    last_ns_ = now;
    return step_;
  }

 private:
  void count(std::uint64_t taken, std::int64_t now) {
    if (first_ns_ == 0) first_ns_ = now;
    if (begin_ns_ == 0) {
      if (now - first_ns_ < length_ / 10) return;
      begin_ns_ = now;
      taken_before_ = taken;
      board_.windows = Windows(now, length_);
      return;
    }
    board_.windows.look(now, taken - taken_before_);
    if (now - begin_ns_ >= length_ && board_.elapsed_ns == 0) {
      board_.elapsed_ns = now - begin_ns_;
      board_.messages = taken - taken_before_;
      stage_.stop.value.store(1, std::memory_order_relaxed);
    }
  }

  Board& board_;
  Stage& stage_;
  std::int64_t length_;
  std::int64_t first_ns_ = 0;
  std::int64_t begin_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t step_ = 1;
  std::uint64_t taken_before_ = 0;
};

// Takes messages until each sender has ended; those of a sender come in order.
template <typename Port>
Result<void> play_stream_receiver(Board& board, Stage& stage, Port& port, const PeerCase& what) {
  StreamWatch watch(board, stage, what.seconds);
  std::array<std::uint64_t, kFaninSenders> last{};
  std::uint64_t taken = 0;
  std::uint64_t next_look = 1;
  for (std::uint32_t ended = 0; ended < what.senders;) {
    std::uint64_t number = 0;
    if (!port.receive(number)) return port.error();
    const std::uint32_t sender = sender_of(number);
    if (sender >= what.senders) return fail(ErrorCode::kSystem, "a message of nobody");
    if (count_of(number) == kEndCount) {
      ++ended;
      continue;
    }
    if (count_of(number) != ++last[sender]) {
      return fail(ErrorCode::kSystem, "a message came out of order");
    }
    if constexpr (Port::kWindow > 0) {
      if (last[sender] % kTakenPerCredit == 0) {
        stage.taken[sender].count.store(last[sender], std::memory_order_relaxed);
      }
    }
    if (++taken == next_look) next_look += watch.look(taken);
  }
  stage.finished.raise();
  return {};
}

template <typename Port>
Result<void> open_sender(Stage& stage, Port& port) {
  if (port.listen()) {
    stage.listening.await(1);
    (void)port.connect();
  }
  stage.connected.raise();
  return port.error();
}

// A sender beyond the first, from its first to its last instruction.
template <typename System>
Result<void> play_further_sender(const System& system, const PeerCase& what, Stage& stage,
                                 std::uint32_t sender) {
  if constexpr (System::kPinnedFirst) {
    if (auto pinned = pin(what.cpus.ping); !pinned) return pinned;
  }
  typename System::Port port(system, what, Place{Side::kPing, sender, false});
  if (auto opened = open_sender(stage, port); !opened) return opened;
  if (auto pinned = pin(what.cpus.ping); !pinned) return pinned;
  stage.start.await(1);
  return play_stream_sender(stage, port, sender);
}

// Each side: makes its port, meets the other side, and returns its measurement.
template <typename System>
Result<Measure> prepare_peer(const System& system, const PeerCase& what, Stage& stage, Board& board,
                             Side side) {
  auto others = std::make_shared<FurtherSenders>();
  if (side == Side::kPing) {
    stage.reset_gates();
    // Fork before a library starts threads, because a fork would not copy them.
    auto started = FurtherSenders::start(board, what, [&](std::uint32_t sender) {
      return play_further_sender(system, what, stage, sender);
    });
    if (!started) return tl::unexpected(started.error());
    *others = std::move(*started);
  } else {
    stage.reset_counts();
  }
  if constexpr (System::kPinnedFirst) {
    const auto pinned = pin(side == Side::kPing ? what.cpus.ping : what.cpus.pong);
    if (!pinned) return tl::unexpected(pinned.error());
  }
  const auto port =
      std::make_shared<typename System::Port>(system, what, Place{side, 0, what.is_round_trip()});
  if (!port->listen()) return tl::unexpected(port->error().error());
  meet(board, side, kAttached);
  if (side == Side::kPing) stage.listening.raise();
  if (!port->connect()) return tl::unexpected(port->error().error());
  if (side == Side::kPing) stage.connected.await(what.senders - 1);

  return [port, others, &what, &stage](Board& shared, Side plays) -> Result<void> {
    const bool pings = plays == Side::kPing;
    if (what.is_round_trip()) {
      return pings ? play_rounds_ping(shared, *port, what.seconds) : play_rounds_pong(*port);
    }
    if (!pings) return play_stream_receiver(shared, stage, *port, what);
    const bool is_filled = what.test == PeerTest::kFill;
    const double seconds = std::min(kCopySeconds, what.seconds);
    if (is_filled) time_copies(what.size, seconds, shared.copies);
    stage.start.raise();
    if (auto sent = play_stream_sender(stage, *port, 0); !sent) return sent;
    if (is_filled) time_copies(what.size, seconds, shared.copies);
    return others->wait();
  };
}

// Runs one row of a peer. Errors: kTooBig (it cannot carry this), those of its ports, kSystem.
template <typename System>
Result<Outcome> measure_peer(SharedBoard& board, const PeerCase& what) {
  const auto system = System::create(what);
  if (!system) return tl::unexpected(system.error());
  const auto stage = Shared<Stage>::create();
  if (!stage) return tl::unexpected(stage.error());
  return run_case(board, what, [&](Board& shared, Side side) {
    return prepare_peer(*system, what, *stage->get(), shared, side);
  });
}

}  // namespace beeline::bench::peers
