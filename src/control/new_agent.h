#pragma once

#include <string>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Makes an agent without a life: its number, its place in the directory, its node in the tree.
// `uid` owns it. The keeper does not know it yet. Errors: kFull (the hive, or the user's share),
// kSystem.
[[nodiscard]] Result<Agent*> make_agent(Hive& hive, uid_t uid, const AttachRequest& request,
                                        Pid parent);

// The name of an agent that has given none.
[[nodiscard]] std::string made_up_name(Role role, Pid pid);

// Undoes make_agent() before any other agent has heard of it.
void forget_new_agent(Hive& hive, Agent& agent);

}  // namespace beeline::control
