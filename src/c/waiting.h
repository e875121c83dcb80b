#pragma once

#include <cstdint>

#include <beeline/event_loop.h>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"

namespace beeline::c {

// One wait for the descriptor of an agent, after its poll() has found this. A signal ends it.
void sleep_until(int fd, Deadline until);
// The words of an agent that will find nothing more.
inline constexpr const char* kAgentHasEnded =
    "the hive went down, or this life of the agent has ended";

// Waits until `take` has found something, and polls the agent meanwhile; `is_there` says that a
// poll has found it. Between a poll and the wait nothing else calls the agent.
template <typename IsThere, typename Take>
beeline_code wait_in_loop(const char* function, beeline_agent& agent, std::int64_t timeout_ns,
                          const IsThere& is_there, const Take& take) {
  if (take()) return BEELINE_OK;
  const int fd = agent.agent.fd();
  const Deadline deadline = deadline_of(timeout_ns);
  for (;;) {
    const Readiness found = agent.agent.loop().poll();
    if (is_there(found) && take()) return BEELINE_OK;
    if (found.ended) return ended(function, kAgentHasEnded);
    if (timeout_ns <= 0 || std::chrono::steady_clock::now() >= deadline) return BEELINE_NOTHING;
    sleep_until(fd, std::min(deadline, found.next));
  }
}

}  // namespace beeline::c
