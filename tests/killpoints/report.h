#pragma once
// What a run has found, as a table or as one JSON object.

#include <string>
#include <vector>

#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

struct Row {
  std::string name;                    // of a scenario, or of a pair of operations
  const Scenario* scenario = nullptr;  // null: a pair
  Tally tally;

  [[nodiscard]] bool is_pair() const { return scenario == nullptr; }
};

struct Summary {
  std::vector<Row> rows;
  Tally total;
  std::size_t scenarios = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::vector<std::string> shortfalls;  // of what the run promises: a sweep that sweeps nothing
};

void print_table(const Summary& summary);
void print_json(const Summary& summary);

}  // namespace beeline::killpoints
