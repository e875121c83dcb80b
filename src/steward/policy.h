#pragma once

// The rules of the hive by role, in tables, and the texts of their refusals.

#include <cstdint>
#include <optional>
#include <string>

#include <beeline/types.h>

#include "src/steward/acl.h"
#include "src/steward/capability.h"
#include "src/steward/default_limits.h"
#include "src/steward/restart.h"
#include "src/steward/role.h"
#include "src/steward/tier.h"

namespace beeline::steward {

// An agent that asks for something. An operator, a command of the hive's user, has role kernel.
struct Actor {
  Pid pid = 0;
  Role role = Role::kWorker;
  std::uint32_t uid = 0;
};

// Names the rule that forbids the action; nullopt if the actor may take it.
[[nodiscard]] std::optional<std::string> refusal(const Actor& actor, Action action);
// Names the capability that the actor lacks; nullopt if it has it.
[[nodiscard]] std::optional<std::string> refusal(const Actor& actor, Capability capability);

}  // namespace beeline::steward
