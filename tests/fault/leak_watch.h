#pragma once
// Looks for what is left, here and in the hive, of what has ended.

#include <sys/types.h>

#include <chrono>

#include <beeline/agent.h>

#include "tests/fault/holdings.h"

namespace beeline::test {

// What an agent may know of the last life of a peer that is away: its status page and two
// descriptors.
inline constexpr Leftovers kLastLife{.fds = 2, .segments = 1};

struct LeakWatch {
  Leftovers least = kAnyLeftovers;  // that there ever was
  Leftovers slack = {};             // what may be there or not, once
  std::chrono::nanoseconds patience = std::chrono::seconds(10);

  // What goes after an end goes soon, while `agent` takes what the coordinator says; else the test
  // fails. From then on there is never more than there was at the least.
  void await(Agent& agent, pid_t keeper, pid_t coordinator);
};

}  // namespace beeline::test
