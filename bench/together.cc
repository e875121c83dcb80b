#include "bench/together.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/agents.h"
#include "bench/hub.h"
#include "bench/rounds.h"
#include "bench/run.h"

namespace beeline::bench {
namespace {

constexpr double kWarmUpSeconds = 0.02;

// Each round is a task for each child, and all results.
Result<void> lead(Board& board, Hub& hub, const Case& what) {
  std::vector<Execution> tasks;
  for (const Peer& peer : hub.peers()) {
    tasks.push_back(
        {peer, Task{.description = "echo", .context = std::string(what.size, 'x')}, {}});
  }
  Result<void> done;
  const auto round = [&](std::uint32_t) {
    for (const auto& result : hub.agent().tasks().execute_all(tasks)) {
      if (!result) done = tl::unexpected(result.error());
    }
    return done.has_value();
  };
  time_rounds(kWarmUpSeconds, board.rounds, round);
  board.rounds.clear();
  if (done) time_rounds(what.seconds, board.rounds, round);
  return done ? hub.send_ends() : done;
}

Result<void> follow(Player& player) {
  player.work();
  return player.error();
}

Result<Outcome> run_together(SharedBoard& board, const Case& what) {
  return run_hub(
      board, what, [&](Board& own, Hub& hub) { return lead(own, hub, what); },
      [](Board&, Player& player) { return follow(player); });
}

void fill(Row& row, const Case& what, const Outcome& outcome) {
  row["children"] = what.members - 1;
  row["size"] = what.size;
  row["rtt_ns"] = percentiles_json(outcome.rtt_ns);
  row["ratio_p50"] = ratio_of(outcome);
}

class Together final : public Benchmark {
 public:
  Together()
      : Benchmark({.name = "together",
                   .help = "A task for each of several children at once, next to the limit",
                   .about = "from execute_all() until it has all results, ns; limit: p50 of the "
                            "same processes, each woken by a futex of its own, until all have "
                            "answered, in the same run",
                   .columns = {{"children", "/children"},
                               {"size", "/size", 8, 1.0, 0, true},
                               {"mode", "/mode", 8},
                               {"p50", "/rtt_ns/p50"},
                               {"p99", "/rtt_ns/p99"},
                               {"max", "/rtt_ns/max"},
                               {"limit", "/limit_rtt_ns/p50"},
                               {"ratio", "/ratio_p50", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 1.0).add_attempts(command).add_modes(command, {WaitMode::kSleep});
    flags_.add_sizes(command, {64}).add_hist(command);
    command.add_option("--children", children_, "How many work at once; several with commas")
        ->delimiter(',')
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kMostMembers - 1));
  }

  Result<void> run(Sink& out) override {
    std::vector<Case> rows;
    for (const std::size_t children : children_) {
      for (Case row : flags_.sized()) {
        row.carry = Carry::kExecute;
        row.members = children + 1;
        rows.push_back(row);
      }
    }
    return run_rows_in_hive(out, flags_, flags_.cases(rows), run_together, fill);
  }

 private:
  std::vector<std::size_t> children_{1, 10};
};

}  // namespace

std::unique_ptr<Benchmark> make_together() { return std::make_unique<Together>(); }

}  // namespace beeline::bench
