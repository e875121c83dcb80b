#include "src/spool/inbox_index.h"

#include <limits>
#include <utility>

namespace beeline::spool {

ClaimKey key_of(const Task& task, ClaimOrder order) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t lower = 0;
  if (order == ClaimOrder::kPriority) {
    // The lowest number has no negation.
    lower = task.priority == kLowest ? std::numeric_limits<std::int64_t>::max() : -task.priority;
  }
  return {lower, task.created_at, task.sequence_number, task.id};
}

void InboxIndex::put(ClaimKey key) {
  erase(key.id);
  std::string id = key.id;
  places_[std::move(id)] = keys_.insert(std::move(key)).first;
}

void InboxIndex::erase(std::string_view id) {
  const auto found = places_.find(std::string(id));
  if (found == places_.end()) return;
  keys_.erase(found->second);
  places_.erase(found);
}

}  // namespace beeline::spool
