// beeline-killpoints: what is left when a process is killed after any instruction of an operation.
//
//   sweep   every instruction: the states of the segments are judged, each once
//   kills   real processes that SIGKILL themselves in the middle
//   pairs   a state of the sender's operation x an instruction of the receiver's, both killed
//   pauses  one stands still in the middle while the other runs

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "tests/killpoints/crew.h"
#include "tests/killpoints/expected_states.h"
#include "tests/killpoints/report.h"
#include "tests/killpoints/rig_clock.h"

namespace beeline::killpoints {
namespace {

constexpr std::uint64_t kLeastScenarios = 40;
constexpr std::uint64_t kLeastPoints = 300'000;
constexpr std::uint64_t kLeastKills = 10'000;
constexpr std::uint64_t kLeastPairs = 1'000'000;

struct Options {
  bool run_long = false;
  bool json = false;
  bool list = false;
  bool states = false;
  std::string scenario{};  // empty: all
  std::optional<std::uint64_t> at{};
  int jobs = 2;
};

// The compiler decides how many stores a copy takes; with another one the numbers are about right.
constexpr bool counts_are_exact() {
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
  return true;
#else
  return false;
#endif
}

bool is_wanted(const Options& options, const std::string& name) {
  return options.scenario.empty() || options.scenario == name;
}

Effort effort_of(const Options& options) {
  Effort effort;
  if (options.run_long) {
    effort.kill_all_below = 4'000;
    effort.kills = 1'000;
    effort.kill_steps = 4'000'000;
    effort.pauses = SIZE_MAX;
  }
  return effort;
}

// What is done for a scenario: the sweep, then real kills.
Tally do_scenario(const Scenario& scenario, const Options& options) {
  Tally tally = sweep_scenario(scenario, options.at);
  if (options.at || options.states) return tally;
  const Tally kills = kill_in_scenario(scenario, effort_of(options));
  const double seconds = tally.seconds + kills.seconds;
  tally.add(kills);
  tally.seconds = seconds;
  return tally;
}

std::vector<Row> run(const Options& options) {
  std::vector<Task> tasks;
  std::vector<Row> rows;
  if (!options.at && !options.states) {
    for (const Pair& pair : pairs()) {
      if (!is_wanted(options, pair.name)) continue;
      tasks.push_back({pair.name, [&] { return sweep_pair(pair, effort_of(options)); }});
      rows.push_back({pair.name, true, {}});
    }
  }
  for (const Scenario& scenario : scenarios()) {
    if (!is_wanted(options, scenario.name)) continue;
    tasks.push_back({scenario.name, [&] { return do_scenario(scenario, options); }});
    rows.push_back({scenario.name, false, {}});
  }
  const auto tallies = run_tasks(tasks, options.jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].tally = tallies[i];
  // Scenarios first; the longest parts were begun first.
  std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.is_pair; });
  return rows;
}

void expect_states(const Row& row, const Operation& operation, Summary& summary) {
  const auto* const end = std::end(kExpectedStates);
  const auto* const expected =
      std::find_if(std::begin(kExpectedStates), end,
                   [&](const ExpectedStates& entry) { return row.name == entry.scenario; });
  const std::uint64_t wanted = expected == end ? 0 : expected->states;
  const bool exact = counts_are_exact() && !operation.copies;
  const bool enough = exact ? row.tally.states == wanted : row.tally.states >= (wanted + 1) / 2;
  if (wanted != 0 && enough) return;
  summary.shortfalls.push_back(fmt::format("{}: {} states, expected {}{}; see expected_states.h",
                                           row.name, row.tally.states,
                                           exact ? "" : "at least half of ", wanted));
}

void expect_at_least(const char* what, std::uint64_t found, std::uint64_t least, Summary& summary) {
  if (found >= least) return;
  summary.shortfalls.push_back(fmt::format("{} {}, at least {} are promised", found, what, least));
}

Summary summarize(std::vector<Row> rows, const Options& options) {
  Summary summary;
  summary.rows = std::move(rows);
  for (const Row& row : summary.rows) {
    summary.total.add(row.tally);
    if (row.is_pair) continue;
    ++summary.scenarios;
    if (options.at || row.tally.violations != 0) continue;
    const auto scenario = std::find_if(scenarios().begin(), scenarios().end(),
                                       [&](const Scenario& one) { return one.name == row.name; });
    expect_states(row, *scenario->operation, summary);
  }
  if (!options.scenario.empty()) return summary;
  expect_at_least("scenarios", summary.scenarios, kLeastScenarios, summary);
  expect_at_least("points", summary.total.points, kLeastPoints, summary);
  expect_at_least("kills", summary.total.kills, kLeastKills, summary);
  expect_at_least("pairs", summary.total.pairs, kLeastPairs, summary);
  return summary;
}

int run_and_report(const Options& options) {
  install_stepper();
  const double start = wall_seconds();
  auto rows = run(options);
  if (rows.empty()) {
    fmt::print(stderr, "beeline-killpoints: no scenario \"{}\"; --list names them\n",
               options.scenario);
    return 2;
  }
  if (options.states) {
    for (const Row& row : rows) fmt::print("{{\"{}\", {}}},\n", row.name, row.tally.states);
    return 0;
  }
  Summary summary = summarize(std::move(rows), options);
  summary.wall_seconds = wall_seconds() - start;
  summary.cpu_seconds = cpu_seconds();
  options.json ? print_json(summary) : print_table(summary);
  return summary.total.violations == 0 && summary.shortfalls.empty() ? 0 : 1;
}

int list() {
  for (const Scenario& scenario : scenarios()) std::puts(scenario.name.c_str());
  for (const Pair& pair : pairs()) std::puts(pair.name.c_str());
  return 0;
}

int main_of(int argc, char** argv) {
  Options options;
  bool run_short = false;
  CLI::App app("Kills Beeline after every instruction and looks at what is left.");
  auto* const is_short = app.add_flag("--short", run_short, "the form for each test run (default)");
  app.add_flag("--long", options.run_long, "more real kills, every pause")->excludes(is_short);
  app.add_flag("--json", options.json, "one JSON object");
  app.add_flag("--list", options.list, "names of all scenarios and pairs");
  app.add_flag("--states", options.states, "the rows of expected_states.inc");
  auto* const scenario = app.add_option("--scenario", options.scenario, "this one alone");
  app.add_option("--at", options.at, "the state after this instruction alone")->needs(scenario);
  app.add_option("--jobs", options.jobs, "processes")->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  return options.list ? list() : run_and_report(options);
}

}  // namespace
}  // namespace beeline::killpoints

int main(int argc, char** argv) {
  try {
    return beeline::killpoints::main_of(argc, argv);
  } catch (const beeline::killpoints::RigError& error) {
    fmt::print(stderr, "beeline-killpoints: {}\n", error.text);
  } catch (const std::exception& error) {
    fmt::print(stderr, "beeline-killpoints: {}\n", error.what());
  }
  return 2;
}
