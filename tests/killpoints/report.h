#pragma once
// What a run has found, as a table or as one JSON object.

#include <string>
#include <vector>

#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

struct Row {
  std::string name;                    // of a scenario, a pair, a standstill or a race
  const Scenario* scenario = nullptr;  // null: two ends meet, that is one of the other three
  Tally tally;

  [[nodiscard]] bool is_pair() const { return scenario == nullptr; }
};

struct Summary {
  bool is_long = false;
  std::vector<Row> rows;
  Tally total;
  std::size_t scenarios = 0;
  std::size_t prepared_states = 0;  // of the segments, that scenarios begin in
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::vector<std::string> shortfalls;  // of what the run promises: a sweep that sweeps nothing
};

void print_table(const Summary& summary);
void print_json(const Summary& summary);

}  // namespace beeline::killpoints
