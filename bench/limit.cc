#include "bench/limit.h"

#include <unistd.h>

#include <chrono>
#include <limits>
#include <string>

#include "bench/machine.h"
#include "bench/rounds.h"
#include "bench/run.h"
#include "src/os/event_fd.h"
#include "src/os/futex.h"

namespace beeline::bench {
namespace {

constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kWarmUpRounds = 100;

// One direction: the word, and the object on which the reader sleeps.
struct Way {
  LoneWord& word;
  LimitKind kind;
  int event;
};

void store(Way way, std::uint32_t value) {
  way.word.value.store(value, std::memory_order_release);
  if (way.kind == LimitKind::kFutex) (void)os::futex_wake_all(&way.word.value);
  if (way.kind == LimitKind::kEventFd) {
    const std::uint64_t one = 1;
    (void)!::write(way.event, &one, sizeof one);
  }
}

// Waits until the word is no longer `old`; returns its new value.
std::uint32_t await_change(Way way, std::uint32_t old) {
  for (;;) {
    const std::uint32_t value = way.word.value.load(std::memory_order_acquire);
    if (value != old) return value;
    if (way.kind == LimitKind::kFutex) {
      (void)os::futex_wait(&way.word.value, old, std::chrono::nanoseconds::max());
    }
    if (way.kind == LimitKind::kEventFd) {
      (void)os::wait_readable(way.event, std::chrono::nanoseconds::max());
      (void)os::drain_event(way.event);
    }
  }
}

Way to_pong(Board& board, LimitKind kind) { return {board.ping, kind, board.events[1]}; }
Way to_ping(Board& board, LimitKind kind) { return {board.pong, kind, board.events[0]}; }

// The word for one of several other sides.
Way call_of(Board& board, std::size_t number) {
  return {board.calls[number], LimitKind::kFutex, -1};
}

void play_crowd_ping(Board& board, double seconds, Histogram& histogram) {
  const auto call_all = [&](std::uint32_t value) {
    for (std::size_t i = 1; i < board.members; ++i) store(call_of(board, i), value);
  };
  const auto others = static_cast<std::uint32_t>(board.members - 1);
  std::uint32_t answers = 0;
  time_rounds(seconds, histogram, [&](std::uint32_t number) {
    call_all(number);
    const std::uint32_t due = answers + others;
    while (answers != due) answers = await_change(to_ping(board, LimitKind::kFutex), answers);
    return true;
  });
  call_all(kEnd);
}

void play_crowd_pong(Board& board, Side side) {
  for (std::uint32_t last = 0;;) {
    last = await_change(call_of(board, number_of(side)), last);
    if (last == kEnd) return;
    board.pong.value.fetch_add(1, std::memory_order_release);
    (void)os::futex_wake_all(&board.pong.value);
  }
}

}  // namespace

void play_limit_ping(Board& board, LimitKind kind, double seconds, Histogram& histogram) {
  std::uint32_t last = 0;
  const auto round = [&](std::uint32_t number) {
    store(to_pong(board, kind), number);
    last = await_change(to_ping(board, kind), last);
    return true;
  };
  for (std::uint32_t number = 1; number <= kWarmUpRounds; ++number) round(number);
  time_rounds(seconds, histogram,
              [&](std::uint32_t number) { return round(kWarmUpRounds + number); });
  store(to_pong(board, kind), kEnd);
}

void play_limit_pong(Board& board, LimitKind kind) {
  for (std::uint32_t last = 0;;) {
    last = await_change(to_pong(board, kind), last);
    if (last == kEnd) return;
    store(to_ping(board, kind), last);
  }
}

void play_limit(Board& board, Side side, LimitKind kind, double seconds, Histogram& histogram,
                std::uint32_t point) {
  // Each side resets a word before anybody waits for it, so that a second limit of a run starts as
  // the first.
  if (side == Side::kPing) board.ping.value.store(0, std::memory_order_relaxed);
  if (side == Side::kPong) board.pong.value.store(0, std::memory_order_relaxed);
  board.calls[number_of(side)].value.store(0, std::memory_order_relaxed);
  meet(board, side, point);
  if (kind == LimitKind::kFutexes) {
    if (side == Side::kPing) play_crowd_ping(board, seconds, histogram);
    if (side != Side::kPing) play_crowd_pong(board, side);
  } else {
    if (side == Side::kPing) play_limit_ping(board, kind, seconds, histogram);
    if (side == Side::kPong) play_limit_pong(board, kind);
  }
  meet(board, side, point + 1);
}

Result<Outcome> run_limit(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board&, Side) -> Result<Measure> {
    return [&](Board& shared, Side side) -> Result<void> {
      play_limit(shared, side, what.limit(), what.seconds, shared.rounds, kLimitItself);
      return {};
    };
  });
}

namespace {

class Limit final : public Benchmark {
 public:
  Limit()
      : Benchmark({.name = "limit",
                   .help = "What the machine can do: a word that goes to the other CPU and back",
                   .about = "round trip of a word, ns",
                   .columns = {{"mode", "/mode", 8},
                               {"by", "/limit_by", 10},
                               {"p50", "/limit_rtt_ns/p50"},
                               {"p99", "/limit_rtt_ns/p99"},
                               {"p99.9", "/limit_rtt_ns/p999"},
                               {"max", "/limit_rtt_ns/max"}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 0.3).add_attempts(command).add_hist(command);
    flags_.add_modes(command, {WaitMode::kSpin, WaitMode::kSleep});
  }

  Result<void> run(Sink& out) override {
    Case what;
    what.carry = Carry::kUntouched;
    what.seconds = flags_.seconds();
    return run_rows(out, flags_, flags_.cases({what}), run_limit,
                    [](Row& row, const Case&, const Outcome& outcome) {
                      row["limit_rtt_ns"] = percentiles_json(outcome.rtt_ns);
                      row["machine"] = machine_json();
                    });
  }
};

}  // namespace

std::unique_ptr<Benchmark> make_limit() { return std::make_unique<Limit>(); }

}  // namespace beeline::bench
