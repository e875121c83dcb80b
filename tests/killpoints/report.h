#pragma once
// The findings of a run, as a table or as one JSON object.

#include <string>
#include <vector>

#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

struct Row {
  std::string name;                    // of a scenario, a pair, a standstill or a race
  const Scenario* scenario = nullptr;  // null: two ends meet, in a pair, standstill or race
  Tally tally;

  [[nodiscard]] bool is_pair() const { return scenario == nullptr; }
};

struct Summary {
  bool is_long = false;
  std::vector<Row> rows;
  Tally total;
  std::size_t scenarios = 0;
  std::size_t prepared_states = 0;  // states of the segments at the start of scenarios
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::vector<std::string> shortfalls;  // promises of the run that it broke, as a sweep that sweeps
                                        // nothing
};

void print_table(const Summary& summary);
void print_json(const Summary& summary);

}  // namespace beeline::killpoints
