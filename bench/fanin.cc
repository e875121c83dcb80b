#include "bench/fanin.h"

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "bench/agents.h"
#include "bench/hub.h"
#include "bench/run.h"
#include "bench/throughput.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

constexpr std::uint32_t kStop = 1;

// Ping's record of each sender.
class Sorter {
 public:
  Sorter(Hub& hub, const Case& what)
      : hub_(hub), what_(what), intake_(what.batch), last_(hub.peers().size()) {}

  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::size_t ended() const { return ended_; }

  // Takes a message, which must be the next of its sender, or its end.
  [[nodiscard]] Result<void> take_one() {
    auto message = intake_.next(hub_.agent());
    if (!message) return tl::unexpected(message.error());
    const std::size_t sender = hub_.index_of(message->from());
    const auto payload = message->payload();
    const bool is_end = payload.empty();
    const bool is_next = !is_end && sender < last_.size() && payload.size() == what_.size &&
                         read_whole(payload, last_[sender] + 1);
    message->done();
    if (is_end) {
      ++ended_;
      return {};
    }
    if (!is_next) return fail(ErrorCode::kSystem, fmt::format("not the next of sender {}", sender));
    ++last_[sender];
    ++messages_;
    return {};
  }

 private:
  Hub& hub_;
  const Case& what_;
  Intake intake_;
  std::vector<std::uint64_t> last_;
  std::uint64_t messages_ = 0;
  std::size_t ended_ = 0;
};

// Takes messages until `over` is true, which it checks after every 64 messages.
template <typename Over>
Result<void> take_until(Board& board, Hub& hub, Sorter& sorter, const Over& over) {
  while (!over()) {
    for (std::uint64_t i = 0; i < kMessagesPerClock; ++i) {
      auto taken =
          sample_look(board, hub.agent(), sorter.messages(), [&] { return sorter.take_one(); });
      if (!taken) return taken;
    }
  }
  return {};
}

Result<void> collect(Board& board, Hub& hub, const Case& what) {
  Sorter sorter(hub, what);
  const auto length = static_cast<std::int64_t>(what.seconds * 1e9);
  const std::int64_t cold = os::monotonic_ns();
  const auto warm = [&] { return os::monotonic_ns() - cold > length / 10; };
  if (auto taken = take_until(board, hub, sorter, warm); !taken) return taken;
  const std::uint64_t first = sorter.messages();
  const std::int64_t start = os::monotonic_ns();
  board.windows = Windows(start, length);
  const auto over = [&] {
    const std::int64_t now = os::monotonic_ns();
    board.windows.look(now, sorter.messages() - first);
    return now - start >= length;
  };
  if (auto taken = take_until(board, hub, sorter, over); !taken) return taken;
  board.elapsed_ns = os::monotonic_ns() - start;
  board.messages = sorter.messages() - first;
  board.order.value.store(kStop, std::memory_order_release);
  while (sorter.ended() < hub.peers().size()) {
    if (auto taken = sorter.take_one(); !taken) return taken;
  }
  return hub.send_ends();
}

Result<void> stream(const Board& board, Player& player) {
  for (std::uint64_t number = 0;;) {
    for (std::uint64_t i = 0; i < kMessagesPerClock; ++i) {
      if (!player.send(++number)) return player.error();
    }
    if (board.order.value.load(std::memory_order_acquire) == kStop) break;
  }
  if (player.send_end()) (void)player.receive_end();
  return player.error();
}

Result<Outcome> run_fanin(SharedBoard& board, const Case& what) {
  return run_hub(
      board, what, [&](Board& own, Hub& hub) { return collect(own, hub, what); }, stream);
}

class FanIn final : public Benchmark {
 public:
  FanIn()
      : Benchmark({.name = "fanin",
                   .help = "Messages a second from several senders to one receiver",
                   .about =
                       "several senders to one receiver, those of each in order; the receiver "
                       "has the first CPU; min, max: of five windows of the run; per look: that "
                       "it took at once",
                   .columns = with_rates({{"senders", "/senders"},
                                          {"size", "/size", 8, 1.0, 0, true},
                                          {"payload", "/payload"},
                                          {"mode", "/mode", 8},
                                          {"batch", "/batch", 6}},
                                         {{"ns each", "/ns_each", 9, 1.0, 1},
                                          {"per look", "/messages_per_look", 9, 1.0, 1},
                                          {"limit", "/limit_rtt_ns/p50"}})}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 1.0).add_attempts(command).add_modes(command, {WaitMode::kSpin});
    flags_.add_sizes(command, {64}).add_batches(command);
    command.add_option("--senders", senders_, "How many send")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kMostMembers - 1));
  }

  Result<void> run(Sink& out) override {
    auto rows = flags_.sized();
    for (Case& row : rows) row.members = senders_ + 1;
    return run_rows_in_hive(out, flags_, flags_.cases(rows), run_fanin,
                            [](Row& row, const Case& what, const Outcome& outcome) {
                              row["senders"] = what.members - 1;
                              fill_stream(row, what, outcome);
                            });
  }

 private:
  std::size_t senders_ = 3;
};

}  // namespace

std::unique_ptr<Benchmark> make_fanin() { return std::make_unique<FanIn>(); }

}  // namespace beeline::bench
