#include "src/steward/caller.h"

#include <unistd.h>

namespace beeline::steward {

std::optional<Caller> Caller::find(const Family& family, Pid pid) {
  const Member* const member = family.find(pid);
  if (member == nullptr || !member->is_complete) return std::nullopt;
  Caller caller;
  const bool is_of_hive = member->uid == ::geteuid() || member->uid == 0;
  caller.is_operator = member->is_temporary && member->parent == 1 && is_of_hive;
  const Role role = role_from(member->role).value_or(Role::kTask);
  caller.actor = {pid, caller.is_operator ? Role::kKernel : role, member->uid};
  return caller;
}

bool Caller::owns(const Family& family, Pid pid, const Child* child) const {
  if (is_operator) return pid != 1;
  if (family.is_below(pid, actor.pid)) return true;
  return child != nullptr &&
         (child->parent == actor.pid || family.is_below(child->parent, actor.pid));
}

}  // namespace beeline::steward
