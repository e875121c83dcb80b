#include "src/agent/directory_tree.h"

#include <cstring>
#include <string>

namespace beeline {

control::Tree read_tree(const shm::DirectoryView& directory) {
  control::Tree tree;
  const std::uint32_t count = directory.agent_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    const shm::AgentState state = directory.agent(i).state;
    shm::AgentRecord record;
    if (state == shm::AgentState::kVacant || !directory.read_record(i, record)) continue;
    tree.add({record.pid, record.parent_pid,
              std::string(record.name, strnlen(record.name, shm::kNameBytes)),
              static_cast<control::Role>(record.role), state, record.uid});
  }
  return tree;
}

}  // namespace beeline
