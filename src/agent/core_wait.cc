#include "src/agent/core_wait.h"

#include <algorithm>

namespace beeline {

namespace {

constexpr std::int64_t kConnected = 10'000'000'000;   // nothing but the rare re-scan
constexpr std::int64_t kUnconnected = 1'000'000'000;  // nobody would ring us for a dead sender
constexpr std::int64_t kBelt = 10'000'000;            // while senders still look for a successor
constexpr std::int64_t kBeltFor = 5'000'000'000;
constexpr std::int64_t kReconnect = 60'000'000;

}  // namespace

void AgentCore::last_look() {
  poll_control();
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
  while (receiver_->drain_all()) {
  }
  receiver_->note_all_empty(os::coarse_ns());
}

std::int64_t AgentCore::longest_block() const {
  std::int64_t longest = belt_ns_;
  if (client_.closed() && !down_) longest = std::min(longest, kReconnect);
  return longest;
}

void AgentCore::disarm() {
  if (!armed_) return;
  armed_ = false;
  waiter_->wake_up();
  waiter_->drain_events();
  poll_control();
}

// Event mode: from here until the next call the agent counts as asleep. What has come meanwhile
// makes the fd readable.
void AgentCore::arm() {
  waiter_->fall_asleep();
  last_look();
  armed_ = true;
  if (receiver_->home().inbox().queued() != 0 || !notices_.empty()) waiter_->signal_self();
}

int AgentCore::event_fd() {
  waiter_->use_events();
  if (!armed_) arm();
  return event_.get();
}

void AgentCore::publish_pressure() {
  const shm::Inbox& inbox = receiver_->home().inbox();
  shm::StatusPage& page = waiter_->status();
  page.queued.relaxed_store(inbox.queued());
  page.critical_queued.relaxed_store(inbox.critical());
}

}  // namespace beeline
