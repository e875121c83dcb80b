#include "bench/fanout.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/agents.h"
#include "bench/hub.h"
#include "bench/run.h"
#include "bench/throughput.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// Hands the payload of each number to all peers.
class Sower {
 public:
  Sower(Hub& hub, const Case& what) : hub_(hub), what_(what), buffer_(what.size) {}

  [[nodiscard]] Result<void> send(std::uint64_t number) {
    write_whole(buffer_, number);
    if (what_.broadcast) return broadcast();
    for (const Peer& peer : hub_.peers()) {
      if (auto sent = send_to(peer); !sent) return sent;
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> send_to(const Peer& peer) {
    const std::span<const std::byte> payload(buffer_);
    if (hub_.agent().send(peer, payload)) return {};
    const SendResult sent = hub_.agent().send_until(peer, payload, Deadline::max());
    if (sent) return {};
    return fail(ErrorCode::kSystem, "send: " + std::string(to_string(sent.status)));
  }
  // A peer with a full lane gets a message of its own, because a broadcast does not wait.
  [[nodiscard]] Result<void> broadcast() {
    const std::span<const std::byte> payload(buffer_);
    for (const Delivery& delivery : hub_.agent().broadcast(Group::all(), payload)) {
      if (delivery.result) continue;
      const std::size_t index = hub_.index_of(delivery.pid);
      if (delivery.result.status != SendStatus::kFull || index == hub_.peers().size()) {
        return fail(ErrorCode::kSystem,
                    "broadcast: " + std::string(to_string(delivery.result.status)));
      }
      if (auto sent = send_to(hub_.peers()[index]); !sent) return sent;
    }
    return {};
  }

  Hub& hub_;
  const Case& what_;
  std::vector<std::byte> buffer_;
};

// From the first message until every receiver has reported the last one.
Result<void> sow(Board& board, Hub& hub, const Case& what) {
  constexpr std::uint64_t kSendsPerClock = 16;
  Sower sower(hub, what);
  const auto length = static_cast<std::int64_t>(what.seconds * 1e9);
  std::uint64_t number = 0;
  const auto send_for = [&](std::int64_t time) -> Result<void> {
    const std::int64_t start = os::monotonic_ns();
    const std::uint64_t first = number;
    board.windows = Windows(start, time);
    for (std::int64_t now = start; now - start < time;) {
      for (std::uint64_t i = 0; i < kSendsPerClock; ++i) {
        if (auto sent = sower.send(++number); !sent) return sent;
      }
      now = os::monotonic_ns();
      board.windows.look(now, (number - first) * hub.peers().size());
    }
    return {};
  };
  if (auto sent = send_for(length / 10); !sent) return sent;
  const std::uint64_t warm = number;
  const std::int64_t start = os::monotonic_ns();
  if (auto sent = send_for(length); !sent) return sent;
  if (auto sent = hub.send_ends(); !sent) return sent;
  if (auto received = hub.receive_ends(); !received) return received;
  board.elapsed_ns = os::monotonic_ns() - start;
  board.messages = (number - warm) * hub.peers().size();
  return {};
}

Result<void> absorb_all(Player& player) {
  for (std::uint64_t number = 1; player.receive(number);) ++number;
  if (player.error()) (void)player.send_end();
  return player.error();
}

Result<Outcome> run_fanout(SharedBoard& board, const Case& what) {
  return run_hub(
      board, what, [&](Board& own, Hub& hub) { return sow(own, hub, what); },
      [](Board&, Player& player) { return absorb_all(player); });
}

void fill_fanout(Row& row, const Case& what, const Outcome& outcome) {
  row["receivers"] = what.members - 1;
  row["by"] = what.broadcast ? "broadcast" : "send";
  fill_stream(row, what, outcome);
  row["payload"] = what.size <= kLanePayload ? "lane" : "copied";
  row.erase("messages_per_look");
}

class FanOut final : public Benchmark {
 public:
  FanOut()
      : Benchmark({.name = "fanout",
                   .help = "Messages a second from one sender to several receivers",
                   .about = "one sender to several receivers, each delivery counted; the sender "
                            "has the first CPU; min, max: of five windows of the run; limit: bare "
                            "round trip, ns",
                   .columns = with_rates(
                       {{"receivers", "/receivers"},
                        {"by", "/by", 10},
                        {"size", "/size", 8, 1.0, 0, true},
                        {"mode", "/mode", 8}},
                       {{"ns each", "/ns_each", 9, 1.0, 1}, {"limit", "/limit_rtt_ns/p50"}})}) {}

  void add_flags(CLI::App& command) override {
    // Receivers that share a CPU must let each other run.
    flags_.add_run(command, 1.0).add_attempts(command).add_modes(command, {WaitMode::kAdaptive});
    flags_.add_sizes(command, {64});
    command.add_option("--receivers", receivers_, "How many receive")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kMostMembers - 1));
    command.add_flag("--broadcast", broadcast_, "Only by Agent::broadcast()");
  }

  Result<void> run(Sink& out) override {
    std::vector<Case> rows;
    for (const bool broadcast : {false, true}) {
      if (broadcast_ && !broadcast) continue;
      for (Case row : flags_.sized()) {
        row.members = receivers_ + 1;
        row.broadcast = broadcast;
        rows.push_back(row);
      }
    }
    return run_rows_in_hive(out, flags_, flags_.cases(rows), run_fanout, fill_fanout);
  }

 private:
  std::size_t receivers_ = 3;
  bool broadcast_ = false;
};

}  // namespace

std::unique_ptr<Benchmark> make_fanout() { return std::make_unique<FanOut>(); }

}  // namespace beeline::bench
