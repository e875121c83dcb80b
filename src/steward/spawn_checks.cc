#include "src/steward/spawn_checks.h"

#include <fmt/format.h>

namespace beeline::steward {
namespace {

tl::unexpected<Error> denied(std::string_view rule) {
  return fail(ErrorCode::kDenied, fmt::format("{}{}", kSpawnDenied, rule));
}

tl::unexpected<Error> invalid(ErrorCode code, std::string_view rule) {
  return fail(code, fmt::format("{}{}", kSpawnInvalid, rule));
}

Result<void> check_actor(const Actor& actor) {
  if (const auto no = refusal(actor, Action::kSpawn)) return denied(*no);
  if (const auto no = refusal(actor, Capability::kSpawnChildren)) return denied(*no);
  return {};
}

Result<void> check_rights(const WantedSpawn& wanted) {
  const auto& [caller, parent, child] = wanted;
  if (const auto checked = check_actor(caller); !checked) return checked;
  if (parent.is_found && parent.actor.pid != caller.pid) {
    if (const auto checked = check_actor(parent.actor); !checked) return checked;
  }
  const bool is_other_user = parent.is_found && child.uid && *child.uid != parent.actor.uid;
  if (is_other_user && parent.actor.role != Role::kKernel) {
    return denied(fmt::format(
        "user mismatch: child requests user \"{}\" but parent PID {} has user \"{}\" (only kernel "
        "can assign different user)",
        *child.uid, parent.actor.pid, parent.actor.uid));
  }
  if (child.role == Role::kKernel) {
    return denied(
        fmt::format("role kernel is that of pid 1 alone; take one of {}", listed(kChildRoleWords)));
  }
  return {};
}

Result<void> check_parent(const WantedSpawn::Parent& parent) {
  if (!parent.is_found) {
    return invalid(ErrorCode::kNoAgent,
                   fmt::format("parent {0} not found: no agent of this hive is {0}; `beeline tree` "
                               "shows all",
                               parent.wanted));
  }
  if (parent.state == "dead" || parent.state == "zombie") {
    return invalid(ErrorCode::kPeerDead, fmt::format("parent {} is {} and cannot spawn children",
                                                     parent.actor.pid, parent.state));
  }
  return {};
}

}  // namespace

Result<void> check_spawn(const WantedSpawn& wanted) {
  if (const auto checked = check_rights(wanted); !checked) return checked;
  const auto& [caller, parent, child] = wanted;
  if (const auto checked = check_parent(parent); !checked) return checked;
  if (child.tier < parent.tier) {
    return invalid(
        ErrorCode::kInvalid,
        fmt::format("child cognitive tier {} exceeds parent {} (child must be <= parent)",
                    to_string(child.tier), to_string(parent.tier)));
  }
  if (parent.max_children != 0 && parent.children >= parent.max_children) {
    return invalid(ErrorCode::kFull,
                   fmt::format("parent {} has {} children, max is {}", parent.actor.pid,
                               parent.children, parent.max_children));
  }
  if (child.role == Role::kTask && child.tier == Tier::kStrategic) {
    return invalid(ErrorCode::kInvalid, "task role cannot have strategic cognitive tier");
  }
  if (child.name.empty()) return invalid(ErrorCode::kInvalid, "process name is required");
  return {};
}

}  // namespace beeline::steward
