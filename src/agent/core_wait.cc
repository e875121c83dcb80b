#include "src/agent/core_wait.h"

#include <algorithm>
#include <limits>

namespace beeline {

namespace {

constexpr std::int64_t kConnected = 10'000'000'000;   // nothing but the rare re-scan
constexpr std::int64_t kUnconnected = 1'000'000'000;  // nobody would ring us for a dead sender
constexpr std::int64_t kBelt = 10'000'000;            // while senders still look for a successor
constexpr std::int64_t kBeltFor = 5'000'000'000;
constexpr std::int64_t kShortest = 1'000'000;

}  // namespace

void AgentCore::last_look() {
  poll_control();
  if (has_ended()) return;  // what lies in the lanes is a successor's
  // The words that say whom our senders ring are read before the lanes: a sender that has not found
  // us yet has put what it sends after this look into a lane without a ring, and the belt bounds
  // how long it lies there.
  belt_ns_ = kConnected;
  if (successor_since_ns_ != 0) {
    const auto& links = receiver_->links();
    const bool found = std::all_of(links.begin(), links.end(), [this](const auto& link) {
      return link->owner_gone || link->view.control().watching.observe() == incarnation_;
    });
    const bool early = os::monotonic_ns() - successor_since_ns_ < kBeltFor;
    if (!found) belt_ns_ = early ? kBelt : kUnconnected;
  }
  const std::int64_t before = os::coarse_ns();
  while (receiver_->drain_all()) {
  }
  if (receiver_->all_empty()) receiver_->note_all_empty(before);
}

std::int64_t AgentCore::longest_block() const {
  std::int64_t longest = belt_ns_;
  if (client_.closed() && !down_) {
    longest = std::clamp(next_resume_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  if (!client_.closed() && next_place_ns_ != std::numeric_limits<std::int64_t>::max()) {
    longest = std::clamp(next_place_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  return longest;
}

void AgentCore::disarm() {
  if (!armed_) return;
  armed_ = false;
  waiter_->wake_up();
  waiter_->drain_events();
  poll_control();
}

// Event mode: from here until the next call the agent counts as asleep. The caller looks once more
// at the inbox; a notice that nobody was told of makes the fd readable.
void AgentCore::arm() {
  waiter_->fall_asleep();
  last_look();
  armed_ = true;
  if (notices_.size() > notices_told_) waiter_->signal_self();
  notices_told_ = notices_.size();
}

// The same where nobody looks at the inbox afterwards.
void AgentCore::arm_again() {
  arm();
  if (receiver_->home().inbox().queued() != 0) waiter_->signal_self();
}

int AgentCore::event_fd() {
  waiter_->use_events();
  if (!armed_) arm_again();
  return event_.get();
}

void AgentCore::publish_pressure() {
  const shm::Inbox& inbox = receiver_->home().inbox();
  shm::StatusPage& page = waiter_->status();
  page.queued.relaxed_store(inbox.queued());
  page.critical_queued.relaxed_store(inbox.critical());
}

}  // namespace beeline
