#pragma once
// Runs parts of a sweep in several processes, each part in one of its own.

#include <functional>
#include <string>
#include <vector>

#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

struct Task {
  std::string name;
  std::function<Tally()> run;
};

// The results in the order of the tasks.
[[nodiscard]] std::vector<Tally> run_tasks(const std::vector<Task>& tasks, int processes);

}  // namespace beeline::killpoints
