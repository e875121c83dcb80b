#pragma once

#include <cstddef>
#include <string>

#include <beeline/result.h>

namespace beeline::bench {

struct CrewRates {
  double tasks_per_s = 0.0;
  double raw_tasks_per_s = 0.0;
};

// Lets worker processes empty an inbox together: claim and complete, until no task waits. Then as
// many processes make the bare system calls of as many tasks, each for tasks of its own. Errors:
// kSystem.
[[nodiscard]] Result<CrewRates> measure_crew(const std::string& place, std::size_t workers,
                                             std::size_t tasks);

}  // namespace beeline::bench
