#include "src/steward/policy.h"

#include <fmt/format.h>

namespace beeline::steward {

std::optional<std::string> refusal(const Actor& actor, Action action) {
  switch (rule_of(actor.role, action)) {
    case Rule::kAllow:
      return std::nullopt;
    case Rule::kDeny:
      return fmt::format("acl: PID {} (role={}, user={}) denied action {}", actor.pid,
                         to_string(actor.role), actor.uid, to_string(action));
    case Rule::kNone:
      break;
  }
  return fmt::format("acl: PID {} (role={}) has no rule for action {}", actor.pid,
                     to_string(actor.role), to_string(action));
}

std::optional<std::string> refusal(const Actor& actor, Capability capability) {
  if (has(actor.role, capability)) return std::nullopt;
  return fmt::format("PID {} (role={}) lacks capability {}", actor.pid, to_string(actor.role),
                     to_string(capability));
}

}  // namespace beeline::steward
