// beeline-killpoints: the memory that a kill leaves after any instruction of an operation.
//
//   sweep   every instruction: the states of the segments are judged, each once (sweep.cc)
//   kills   real processes that SIGKILL themselves in the middle; in the short form at one of
//           twenty instructions (kills.cc)
//   pairs   a state of the sender's operation x an instruction of the receiver's, both killed
//           (pair_sweep.cc)
//   pauses  one stands still in the middle while the other runs (pauses.cc)
//   races   the same, and what the one has stored since its last fence cannot be seen yet
//           (store_buffer.cc)
//
// To read from the top: this file; scenario.h describes scenarios, bases.cc and *_operations.cc
// list the states and operations; sweep.cc steps through them (stepper.cc) and keeps their states
// (image.cc); judge.h lists the conditions on each state. rig.h and life.h are the two agents.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>

#include <fmt/format.h>

#include "tests/killpoints/crew.h"
#include "tests/killpoints/promises.h"
#include "tests/killpoints/report.h"
#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/state_floors.h"
#include "tests/killpoints/store_buffer.h"

namespace beeline::killpoints {
namespace {

struct Options {
  bool run_long = false;
  bool json = false;
  bool list = false;
  bool floors = false;
  std::string scenario{};  // empty: all
  std::optional<std::uint64_t> at{};
  int jobs = 2;
};

bool is_wanted(const Options& options, const std::string& name, bool is_long) {
  if (!options.scenario.empty()) return options.scenario == name;
  return options.run_long || options.floors || !is_long;
}

Effort effort_of(const Options& options) {
  Effort effort = options.run_long ? kLongEffort : Effort{};
  if (options.floors) effort.pause_every = 0;
  return effort;
}

// Runs all tasks of these rows.
void run_rows(const std::vector<Task>& tasks, std::vector<Row>& rows, int jobs) {
  const auto tallies = run_tasks(tasks, jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].tally = tallies[i];
}

std::vector<Row> run_sweeps(const Options& options) {
  std::vector<Task> tasks;
  std::vector<Row> rows;
  const Effort effort = effort_of(options);
  if (!options.at) {
    for (const Pair& pair : pairs()) {
      if (!is_wanted(options, pair.name, pair.is_long)) continue;
      tasks.push_back({pair.name, [&pair, effort] { return sweep_pair(pair, effort); }});
      rows.push_back({pair.name, nullptr, {}});
    }
    for (const Standstill& one : standstills()) {
      if (!is_wanted(options, one.pair.name, one.pair.is_long)) continue;
      tasks.push_back({one.pair.name, [&one, effort] { return sweep_standstill(one, effort); }});
      rows.push_back({one.pair.name, nullptr, {}});
    }
    for (const Race& race : races()) {
      if (!is_wanted(options, race.name, false)) continue;
      tasks.push_back({race.name, [&race, effort] { return sweep_race(race, effort); }});
      rows.push_back({race.name, nullptr, {}});
    }
  }
  for (const Scenario& scenario : scenarios()) {
    if (!is_wanted(options, scenario.name, scenario.is_long)) continue;
    tasks.push_back({scenario.name, [&] { return sweep_scenario(scenario, options.at); }});
    rows.push_back({scenario.name, &scenario, {}});
  }
  run_rows(tasks, rows, options.jobs);
  return rows;
}

// Scenarios come first; the longest parts were started first.
void sort(std::vector<Row>& rows) {
  std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.is_pair(); });
}

// At how many instructions of it a process is killed for real.
std::uint64_t kills_of(const Row& row, const Effort& effort) {
  if (effort.kills == kEvery) return kEvery;
  return std::min(effort.kills, row.tally.points / effort.kill_every + 1);
}

void add_kills(std::vector<Row>& swept, const Options& options) {
  std::vector<Task> tasks;
  std::vector<Row*> rows;
  for (Row& row : swept) {
    if (row.is_pair()) continue;
    const std::uint64_t most = kills_of(row, effort_of(options));
    tasks.push_back({row.name, [&row, most] { return kill_in_scenario(*row.scenario, most); }});
    rows.push_back(&row);
  }
  const auto tallies = run_tasks(tasks, options.jobs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]->tally.add(tallies[i]);
    rows[i]->tally.seconds += tallies[i].seconds;
  }
}

Summary summarize(std::vector<Row> rows, const Options& options) {
  Summary summary;
  summary.is_long = options.run_long;
  summary.rows = std::move(rows);
  std::set<std::uint64_t> prepared;
  for (const Row& row : summary.rows) {
    summary.total.add(row.tally);
    if (row.is_pair()) continue;
    ++summary.scenarios;
    prepared.insert(row.tally.prepared);
  }
  summary.prepared_states = prepared.size();
  // A run of a single instruction promises nothing.
  if (!options.at) check_promises(summary, {options.run_long, options.scenario.empty()});
  return summary;
}

// Numbers of a sweep that went wrong are worth nothing.
int print_floors(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (row.tally.violations == 0) continue;
    fmt::print(stderr, "beeline-killpoints: {}: {}\n", row.name, row.tally.first.text);
    return 1;
  }
  for (const Row& row : rows) {
    fmt::print("{{\"{}\", {}, {}}},\n", row.name, floor_of(row.tally.states),
               floor_of(row.tally.sender_states));
  }
  return 0;
}

int run_and_report(const Options& options) {
  install_stepper();
  const double start = wall_seconds();
  auto rows = run_sweeps(options);
  if (rows.empty()) {
    fmt::print(stderr, "beeline-killpoints: no scenario \"{}\"; --list names them\n",
               options.scenario);
    return 2;
  }
  sort(rows);
  if (options.floors) return print_floors(rows);
  if (!options.at) add_kills(rows, options);
  Summary summary = summarize(std::move(rows), options);
  summary.wall_seconds = wall_seconds() - start;
  summary.cpu_seconds = cpu_seconds();
  options.json ? print_json(summary) : print_table(summary);
  return summary.total.violations == 0 && summary.shortfalls.empty() ? 0 : 1;
}

int list() {
  for (const Scenario& scenario : scenarios()) std::puts(scenario.name.c_str());
  for (const Pair& pair : pairs()) std::puts(pair.name.c_str());
  for (const Standstill& one : standstills()) std::puts(one.pair.name.c_str());
  for (const Race& race : races()) std::puts(race.name.c_str());
  return 0;
}

int main_of(int argc, char** argv) {
  Options options;
  bool run_short = false;
  CLI::App app("Kills Beeline after every instruction and looks at what is left.");
  auto* const is_short = app.add_flag("--short", run_short, "the form for each test run (default)");
  app.add_flag("--long", options.run_long,
               "every instruction killed for real, and one end stopped at it")
      ->excludes(is_short);
  app.add_flag("--json", options.json, "one JSON object");
  app.add_flag("--list", options.list, "names of all scenarios and pairs");
  app.add_flag("--floors", options.floors, "90 % of the states of each, for state_floors.inc");
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
