#pragma once
// Looks for leftovers of ended agents, here and in the hive.

#include <sys/types.h>

#include <chrono>

#include <beeline/agent.h>

#include "tests/fault/holdings.h"

namespace beeline::test {

// An agent may know this much of the last life of a peer that is away: its status page and two
// descriptors.
inline constexpr Leftovers kLastLife{.fds = 2, .segments = 1};

struct LeakWatch {
  Leftovers least = kAnyLeftovers;  // the fewest that there ever were
  Leftovers slack = {};             // leftovers that may exist or not, once
  std::chrono::nanoseconds patience = std::chrono::seconds(10);

  // Leftovers go soon after an end, while `agent` reads the coordinator's announcements; otherwise
  // the test fails. From then on there is never more than the minimum.
  void await(Agent& agent, pid_t keeper, pid_t coordinator);
};

}  // namespace beeline::test
