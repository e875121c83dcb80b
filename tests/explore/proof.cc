#include "tests/explore/proof.h"

#include <cstdio>

namespace beeline::explore {

namespace {

constexpr std::uint64_t kMost = 20'000'000;  // executions of one scenario; more are too many

void print_failure(const Scenario& scenario, const Result& result) {
  std::printf("FAILED %s: %s\n", scenario.name.c_str(), result.failure.c_str());
  std::printf("  it should prove that %s. The execution:\n%s", scenario.proves,
              result.trace.c_str());
}

unsigned long long number(std::uint64_t value) { return value; }

}  // namespace

Proof::Proof(Depth depth) {
  add_lane_scenarios(scenarios_, depth);
  add_bank_scenarios(scenarios_, depth);
  add_wake_scenarios(scenarios_, depth);
  add_directory_scenarios(scenarios_, depth);
  add_home_scenarios(scenarios_, depth);
  add_history_scenarios(scenarios_, depth);
  add_takeover_scenarios(scenarios_, depth);
}

bool Proof::run() {
  const bool clean = run_clean();
  const bool unreduced = run_unreduced();
  return run_weakened() && unreduced && clean;
}

bool Proof::run_clean() {
  bool good = true;
  std::printf("%-18s %-32s %11s %11s %6s\n", "scenario", "bound", "executions", "given up",
              "kills");
  for (const Scenario& scenario : scenarios_) {
    sites().forget_reached();
    const Result result = explorer().explore(scenario, kMost);
    reached_.push_back(sites().reached());
    executions_ += result.executions;
    std::printf("%-18s %-32s %11llu %11llu %6llu  %s\n", scenario.name.c_str(),
                scenario.bound.c_str(), number(result.executions), number(result.redundant),
                number(result.kills), result.exhaustive ? "exhaustive" : "NOT EXHAUSTIVE");
    if (!result.failure.empty()) print_failure(scenario, result);
    const bool enough = result.executions >= scenario.least;
    if (!enough) {
      std::printf("FAILED %s: explores too little to mean anything\n", scenario.name.c_str());
    }
    good = good && result.failure.empty() && result.exhaustive && enough;
  }
  std::printf("%zu scenarios, %llu executions that differ\n", scenarios_.size(),
              number(executions_));
  return good;
}

bool Proof::run_unreduced() {
  bool good = true;
  for (const Scenario& scenario : scenarios_) {
    if (scenario.preemptions == 0) continue;
    const Result result = explorer().explore_all_orders(scenario, kMost, scenario.preemptions);
    std::printf("%-18s %-32s %11llu %11llu without reduction, at most %u preemptions: %s\n",
                scenario.name.c_str(), scenario.bound.c_str(), number(result.executions),
                number(result.redundant), scenario.preemptions,
                result.exhaustive ? "exhaustive" : "NOT EXHAUSTIVE");
    if (!result.failure.empty()) print_failure(scenario, result);
    good = good && result.failure.empty() && result.exhaustive;
  }
  return good;
}

bool Proof::run_weakened() {
  std::size_t needed = 0;
  std::size_t in_headers = 0;
  std::size_t in_engine = 0;
  for (std::size_t site = 0; site < sites().count(); ++site) {
    const std::string name = sites().name(site);
    Result result;
    const int scenario = find_failure(site, result);
    if (scenario >= 0) {
      std::printf("%-26s %-18s %s\n", name.c_str(),
                  scenarios_[static_cast<std::size_t>(scenario)].name.c_str(),
                  result.failure.c_str());
      ++needed;
      if (name.starts_with("shm/")) ++in_headers;
      if (name.starts_with("tests/")) ++in_engine;
      continue;
    }
    std::printf(
        "FAILED %s: %s\n  no scenario fails without this order: make it relaxed, with the reason "
        "why that is safe, or add the scenario that needs it\n",
        name.c_str(), sites()[site].text.c_str());
  }
  for (const std::string& place : sites().unknown()) {
    std::printf(
        "FAILED %s: an order that was not found in the text, so nothing weakens it: write its call "
        "in one line\n",
        place.c_str());
  }
  std::printf(
      "%zu of %zu orders shown necessary: %zu in shm/, %zu in src/wake, %zu of the rest of src/ as "
      "tests/explore/engine.h repeats it\n",
      needed, sites().count(), in_headers, needed - in_headers - in_engine, in_engine);
  return needed == sites().count() && sites().unknown().empty();
}

int Proof::find_failure(std::size_t site, Result& result) const {
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    if (!reached_[i][site]) continue;
    sites().weaken(static_cast<int>(site));
    result = explorer().explore(scenarios_[i], kMost);
    sites().weaken(-1);
    if (!result.failure.empty()) return static_cast<int>(i);
  }
  return -1;
}

bool Proof::show(const std::string& site) const {
  for (std::size_t i = 0; i < sites().count(); ++i) {
    if (sites().name(i) != site) continue;
    sites().weaken(static_cast<int>(i));
    for (const Scenario& scenario : scenarios_) {
      const Result result = explorer().explore(scenario, kMost);
      if (result.failure.empty()) continue;
      print_failure(scenario, result);
      return true;
    }
    std::printf("%s: no scenario fails without this order\n", site.c_str());
    return false;
  }
  std::printf("%s: asks for no order; those that do:\n", site.c_str());
  for (std::size_t i = 0; i < sites().count(); ++i) std::printf("  %s\n", sites().name(i).c_str());
  return false;
}

}  // namespace beeline::explore
