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

bool Caller::owns(const Family& family, Pid pid) const {
  return is_operator ? pid != 1 : family.is_below(pid, actor.pid);
}

}  // namespace beeline::steward
