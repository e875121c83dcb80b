#include "bench/inbox.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bench/agents.h"
#include "bench/rounds.h"
#include "bench/run.h"
#include "src/os/clock.h"
#include "src/os/process.h"

namespace beeline::bench {
namespace {

constexpr std::uint32_t kNoMore = std::numeric_limits<std::uint32_t>::max();
// One of these in turn: few are critical, as in real traffic.
constexpr std::array<std::int32_t, 16> kRanks{kCritical, kHigh,   kNormal, kLow,   kNormal, kHigh,
                                              kNormal,   kLow,    kNormal, kHigh,  kNormal, kLow,
                                              kNormal,   kNormal, kHigh,   kNormal};

// Lets the sender fill the inbox until `total` messages in all have come.
void fill_up(Board& board, Agent& agent, std::uint32_t total) {
  board.order.value.store(total, std::memory_order_release);
  // A look takes all messages from the lanes, and hands one out, which goes back to its place.
  std::vector<Message> held;
  for (std::uint64_t drained = agent.counters().drained; drained < total;) {
    if (auto message = agent.try_receive()) held.push_back(std::move(*message));
    const std::uint64_t before = std::exchange(drained, agent.counters().drained);
    if (drained == before) os::yield();
  }
  while (!held.empty()) {
    held.back().requeue();
    held.pop_back();
  }
}

Result<void> take(Board& board, Agent& agent, const Case& what) {
  const auto clock = std::make_unique<Histogram>();
  time_rounds(0.005, *clock, [](std::uint32_t) { return true; });
  board.clock_ns = clock->percentile(50.0);
  const std::size_t taken_each = std::clamp<std::size_t>(what.depth / 10, 10, 1000);
  auto total = static_cast<std::uint32_t>(what.depth);
  const std::int64_t begin = os::monotonic_ns();
  const auto length = static_cast<std::int64_t>(what.seconds * 1e9);
  do {
    fill_up(board, agent, total);
    for (std::size_t i = 0; i < taken_each; ++i) {
      const std::int64_t start = os::monotonic_ns();
      auto message = agent.try_receive();
      if (!message) return fail(ErrorCode::kSystem, "a message is missing in the inbox");
      message->done();
      board.rounds.record(os::monotonic_ns() - start);
    }
    total += static_cast<std::uint32_t>(taken_each);
  } while (os::monotonic_ns() - begin < length || board.rounds.count() < Outcome::kFewest);
  board.order.value.store(kNoMore, std::memory_order_release);
  return {};
}

Result<void> supply(Board& board, Agent& agent, Peer to, const Case& what) {
  std::vector<std::byte> payload(what.size);
  for (std::uint32_t sent = 0;;) {
    const std::uint32_t order = board.order.value.load(std::memory_order_acquire);
    if (order == kNoMore) return {};
    if (order == sent) os::yield();
    for (; sent < order; ++sent) {
      SendOptions options;
      options.rank = kRanks[sent % kRanks.size()];
      const auto result =
          agent.send_until(to, std::span<const std::byte>(payload), Deadline::max(), options);
      if (!result) {
        return fail(ErrorCode::kSystem, "send: " + std::string(to_string(result.status)));
      }
    }
  }
}

Result<Measure> prepare_receiver(Board& board, const Case& what) {
  AttachOptions options = options_of(Side::kPing, what);
  options.inbox_capacity = static_cast<std::uint32_t>(std::max<std::size_t>(64, 2 * what.depth));
  options.max_attempts = 255;  // see fill_up()
  auto agent = attach_side(board, Side::kPing, options);
  if (!agent) return tl::unexpected(agent.error());
  auto owned = std::make_shared<Agent>(std::move(*agent));
  return [owned, &what](Board& own, Side) { return take(own, *owned, what); };
}

// A child of the receiver, because the receiver would raise low ranks of other senders.
Result<Measure> prepare_sender(Board& board, const Case& what) {
  meet(board, Side::kPong, kAttached);
  AttachOptions options = options_of(Side::kPong, what);
  options.parent = name_of(Side::kPing);
  auto agent = Agent::attach(options);
  if (!agent) return tl::unexpected(agent.error());
  auto peer = agent->peer(name_of(Side::kPing));
  if (!peer) return tl::unexpected(peer.error());
  auto owned = std::make_shared<Agent>(std::move(*agent));
  return [owned, to = *peer, &what](Board& own, Side) { return supply(own, *owned, to, what); };
}

Result<Outcome> run_inbox(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board& shared, Side side) {
    return side == Side::kPing ? prepare_receiver(shared, what) : prepare_sender(shared, what);
  });
}

void fill_inbox(Row& row, const Case& what, const Outcome& outcome) {
  row["depth"] = what.depth;
  row["size"] = what.size;
  row["take_ns"] = percentiles_json(outcome.rtt_ns);
  row["clock_ns"] = {{"p50", outcome.clock_ns}};
}

class Inbox final : public Benchmark {
 public:
  Inbox()
      : Benchmark({.name = "inbox",
                   .help = "Taking the next message out of a deep inbox",
                   .about = "take and finish a message, four ranks mixed, order by age and rank, "
                            "ns; clock: what timing adds to each",
                   .columns = {{"depth", "/depth"},
                               {"size", "/size", 8, 1.0, 0, true},
                               {"p50", "/take_ns/p50"},
                               {"p99", "/take_ns/p99"},
                               {"p99.9", "/take_ns/p999"},
                               {"max", "/take_ns/max"},
                               {"clock", "/clock_ns/p50"},
                               {"limit", "/limit_rtt_ns/p50"}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 0.3).add_attempts(command).add_sizes(command, {64});
    flags_.add_hist(command);
    command.add_option("--depth", depths_, "Messages in the inbox; several with commas")
        ->default_str("100,1000,10000,100000")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{10}, std::size_t{450'000}));
  }

  Result<void> run(Sink& out) override {
    std::vector<Case> rows;
    for (const std::size_t depth : depths_) {
      for (Case row : flags_.sized()) {
        row.depth = depth;
        rows.push_back(row);
      }
    }
    return run_rows_in_hive(out, flags_, flags_.cases(rows, {WaitMode::kSpin}), run_inbox,
                            fill_inbox);
  }

 private:
  std::vector<std::size_t> depths_{100, 1000, 10'000, 100'000};
};

}  // namespace

std::unique_ptr<Benchmark> make_inbox() { return std::make_unique<Inbox>(); }

}  // namespace beeline::bench
