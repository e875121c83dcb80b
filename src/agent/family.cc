#include "src/agent/family.h"

#include <algorithm>

namespace beeline {

Family::Family(const shm::DirectoryView& directory) {
  const std::uint32_t count = directory.agent_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    shm::AgentRecord record;
    if (directory.agent(i).state == shm::AgentState::kVacant) continue;
    if (directory.read_record(i, record)) parents_[record.pid] = record.parent_pid;
  }
}

// A parent is older than its child, so no chain goes round in a circle.
std::vector<Pid> Family::ancestors(Pid pid) const {
  std::vector<Pid> chain;
  auto at = parents_.find(pid);
  while (at != parents_.end() && at->second != 0 && at->second < at->first) {
    chain.push_back(at->second);
    at = parents_.find(at->second);
  }
  return chain;
}

Pid Family::nearest_common_ancestor(Pid a, Pid b) const {
  std::vector<Pid> of_a = ancestors(a);
  of_a.insert(of_a.begin(), a);
  std::vector<Pid> of_b = ancestors(b);
  of_b.insert(of_b.begin(), b);
  const auto found = std::find_first_of(of_b.begin(), of_b.end(), of_a.begin(), of_a.end());
  return found == of_b.end() ? 0 : *found;
}

}  // namespace beeline
