#pragma once

#include <sched.h>

namespace beeline::test {

// A CPU that we may use; 0 if the system does not say.
[[nodiscard]] inline int first_cpu() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return 0;
  int cpu = 0;
  while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) ++cpu;
  return cpu;
}

}  // namespace beeline::test
