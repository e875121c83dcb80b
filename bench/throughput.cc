#include "bench/throughput.h"

#include <memory>

#include <fmt/format.h>

#include "bench/agents.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

constexpr std::uint64_t kWarmUp = 100'000;

// From the first message until the receiver has reported the last one.
Result<void> stream(Board& board, Player& player, double seconds) {
  std::uint64_t number = 0;
  const auto send_until = [&](auto&& over) {
    while (!over()) {
      for (std::uint64_t i = 0; i < kMessagesPerClock; ++i) {
        if (!player.send(++number)) return;
      }
    }
  };
  const std::int64_t cold = os::monotonic_ns();
  const auto length = static_cast<std::int64_t>(seconds * 1e9);
  // The warm-up ends with the messages or, if all sides sleep, with the time.
  send_until([&] { return number >= kWarmUp || os::monotonic_ns() - cold > length / 10; });
  const std::uint64_t warm = number;
  const std::int64_t start = os::monotonic_ns();
  board.windows = Windows(start, length);
  send_until([&] {
    const std::int64_t now = os::monotonic_ns();
    board.windows.look(now, number - warm);
    return now - start >= length;
  });
  if (player.error() && player.send_end()) (void)player.receive_end();
  board.elapsed_ns = os::monotonic_ns() - start;
  board.messages = number - warm;
  return player.error();
}

Result<void> absorb(Board& board, Player& player) {
  for (std::uint64_t number = 1; player.receive_sampled(board, number);) ++number;
  if (player.error()) (void)player.send_end();
  return player.error();
}

class Throughput final : public Benchmark {
 public:
  Throughput()
      : Benchmark({.name = "throughput",
                   .help = "Messages one way in a second, next to the limit",
                   .about =
                       "messages one way; min, max: of five windows of the run; per look: that "
                       "the receiver took at once; limit: p50 of the bare round trip in the "
                       "same run, ns",
                   .columns = with_rates({{"size", "/size", 8, 1.0, 0, true},
                                          {"payload", "/payload"},
                                          {"mode", "/mode", 8},
                                          {"batch", "/batch", 6}},
                                         {{"ns each", "/ns_each", 9, 1.0, 1},
                                          {"per look", "/messages_per_look", 9, 1.0, 1},
                                          {"limit", "/limit_rtt_ns/p50"}})}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 1.0).add_attempts(command).add_modes(command, {WaitMode::kSpin});
    flags_.add_sizes(command, {64, 1024}).add_carry(command).add_batches(command);
  }

  Result<void> run(Sink& out) override {
    return run_rows_in_hive(out, flags_, flags_.cases(flags_.sized()), run_throughput, fill_stream);
  }
};

}  // namespace

void fill_stream(Row& row, const Case& what, const Outcome& outcome) {
  row["size"] = what.size;
  row["payload"] = to_string(what.carry);
  row["batch"] = what.batch;
  row["how"] = what.batch == 1 ? std::string(to_string(what.mode))
                               : fmt::format("{}, {} a call", to_string(what.mode), what.batch);
  add_rate(row, outcome);
  row["messages_per_look"] = rounded(outcome.messages_per_look);
}

std::unique_ptr<Benchmark> make_throughput() { return std::make_unique<Throughput>(); }

Result<Outcome> run_throughput(SharedBoard& board, const Case& what) {
  return run_case(board, what, [&](Board& shared, Side side) -> Result<Measure> {
    auto joined = Player::join(shared, side, what);
    if (!joined) return tl::unexpected(joined.error());
    auto player = std::make_shared<Player>(std::move(*joined));
    return [player, &what](Board& own, Side plays) {
      return plays == Side::kPing ? stream(own, *player, what.seconds) : absorb(own, *player);
    };
  });
}

}  // namespace beeline::bench
