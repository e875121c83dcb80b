#include "src/agent/notices.h"

#include <algorithm>

namespace beeline {

void Notices::add(Notice notice) {
  if (notices_.size() >= kMost) {
    notices_.pop_front();
    ++dropped_;
    if (told_ > 0) --told_;
  }
  notices_.push_back(std::move(notice));
}

// A coordinator that is restarted in between announces the same death again.
void Notices::add_death(const control::DiedAnnouncement& died) {
  const std::pair<Pid, shm::Incarnation> life(died.pid, died.incarnation);
  if (std::find(told_ends_.begin(), told_ends_.end(), life) != told_ends_.end()) return;
  told_ends_.push_back(life);
  if (told_ends_.size() > kMost) told_ends_.pop_front();
  const bool away = died.state == shm::AgentState::kAway;
  add({away ? Notice::Kind::kChildAway : Notice::Kind::kChildDead, died.pid, died.name});
}

std::optional<Notice> Notices::next() {
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  if (told_ > 0) --told_;
  return notice;
}

}  // namespace beeline
