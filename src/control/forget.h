#pragma once

// Agents that are away for good: a user says so, or the hive was told to assume it if nothing has
// waited for an agent for long. They end as temporary agents do: a take-over reads their messages,
// and their place and descriptors go to others. All functions answer their caller themselves when
// they succeed; operations.cc answers an error.

#include <cstdint>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Ends an agent that has no process, on request of its user, the user of the hive or root. Answers
// when its place is free. Errors: kNoAgent, kPeerDead, kDenied, kAlreadyRunning (it has a
// process).
[[nodiscard]] Result<void> forget_agent(Hive& hive, const Caller& caller, std::uint64_t seq,
                                        const ForgetRequest& request);

// Answers the tools that wait for the take-over of a finally dead agent, with the number of its
// letters.
void answer_forgets(Hive& hive, Pid pid, std::uint64_t letters);

// Ends an agent for good, without its messages if `purge`. REQUIRES: it has no process and is not
// finally dead.
void end_for_good(Hive& hive, Agent& agent, bool purge);

// True if it is away and has no children: it may be ended when nothing waits for it.
[[nodiscard]] bool may_be_let_go(const Hive& hive, const Agent& agent);

// Adds to Hive::looks.due the agents that have been away for Hive::looks.after_ns, so that
// their homes are looked at. Returns when it wants to be called again, 0 for never.
std::int64_t plan_looks(Hive& hive, std::int64_t now_ns);

}  // namespace beeline::control
