#pragma once

// Agents that are away for good: somebody says so, or the hive was told to take it for granted when
// nothing has waited for one for long. They end as temporary agents do: a take-over reads what they
// left, and their place and descriptors go to others. All functions answer their caller themselves
// when they succeed; an error is answered by operations.cc.

#include <cstdint>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

/// Ends an agent that has no process, for its user, the user of the hive or root. Answered when its
/// place is free. Errors: kNoAgent, kPeerDead, kDenied, kAlreadyRunning (it has a process).
[[nodiscard]] Result<void> forget_agent(Hive& hive, const Caller& caller, std::uint64_t seq,
                                        const ForgetRequest& request);

/// A finally dead agent was taken over, with so many letters: answers those who wait for that.
void answer_forgets(Hive& hive, Pid pid, std::uint64_t letters);

/// Ends an agent for good, without its messages if `purge`. REQUIRES: it has no process and is not
/// finally dead.
void end_for_good(Hive& hive, Agent& agent, bool purge);

/// Is it away with nobody below it: may it be ended when nothing waits for it?
[[nodiscard]] bool may_be_let_go(const Hive& hive, const Agent& agent);

/// Puts into Hive::looks whose home is to be looked at: agents that have been away for
/// Hive::forget_empty_after_ns. Returns when it wants to be called again, 0 for never.
std::int64_t plan_looks(Hive& hive, std::int64_t now_ns);

}  // namespace beeline::control
