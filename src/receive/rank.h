#pragma once
// The rank under which a receiver stores a message: the sender asks for one, and the relation of
// the two raises it. The receiver computes it from the directory, so nobody can claim more.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <beeline/types.h>

#include "shm/directory.h"

namespace beeline::receive {

// How the sender stands to the receiver; the first that holds.
[[nodiscard]] constexpr Relation relation_of(const shm::AgentRecord& sender,
                                             const shm::AgentRecord& receiver) {
  constexpr std::uint32_t kKernelRole = 0;
  if (sender.role == kKernelRole) return Relation::kSystem;
  if (receiver.parent_pid == sender.pid) return Relation::kParent;
  if (sender.parent_pid == receiver.pid) return Relation::kChild;
  if (shm::are_siblings(sender.parent_pid, receiver.parent_pid)) return Relation::kSibling;
  return Relation::kOther;
}

// An agent takes tasks from its parent and from the coordinator. Both sides of a task ask this.
[[nodiscard]] constexpr bool may_execute(Relation giver) {
  return giver == Relation::kParent || giver == Relation::kSystem;
}
inline constexpr std::string_view kNotOwnChild = "can only execute_on own children";

[[nodiscard]] constexpr std::int32_t base_rank(Relation relation) {
  switch (relation) {
    case Relation::kSystem:
      return kCritical;
    case Relation::kParent:
      return kHigh;
    case Relation::kSibling:
      return kNormal;
    case Relation::kChild:
    case Relation::kOther:
      return kLow;
  }
  return kLow;
}

// The relation can only raise the urgency; an escalation is high on any route.
[[nodiscard]] constexpr std::int32_t stored_rank(std::int32_t explicit_rank, Relation relation,
                                                 bool escalation) {
  const std::int32_t most = escalation ? kHigh : base_rank(relation);
  return std::min({std::clamp(explicit_rank, kCritical, kLow), most, base_rank(relation)});
}

}  // namespace beeline::receive
