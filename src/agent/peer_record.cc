#include "src/agent/peer_record.h"

namespace beeline {

void PeerRecord::place(const shm::DirectoryView& directory, std::uint32_t index) {
  const bool is_finally_dead = index >= shm::kMaxAgents;
  link_->set_owner_gone(is_finally_dead);
  word_ = is_finally_dead ? nullptr : &directory.word(index);
  index_ = index;
}

// SYNC(directory.word): acquire; a reader that sees the end of a life sees all that it sent.
shm::AgentWord PeerRecord::word() const {
  BEELINE_CHECK(has_place(), link_->owner_pid(), link_->key().incarnation);
  return shm::AgentWord::unpack(word_->observe());
}

void PeerRecord::watch_owner() {
  if (link_->owner_gone() || !has_place()) return;
  const shm::AgentWord now = word();
  link_->set_owner_gone(now.state == shm::AgentState::kVacant ||
                        shm::has_ended(now, link_->key().incarnation));
}

void PeerRecord::begin_anew() {
  word_ = nullptr;
  reported_ = false;
}

}  // namespace beeline
