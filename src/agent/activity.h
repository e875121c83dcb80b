#pragma once
// The activity that this agent shows on its status page.

#include <cstdint>
#include <utility>

#include "shm/status.h"

namespace beeline {

// One thread.
class Activity {
 public:
  // The page is not owned.
  explicit Activity(shm::StatusPage& page) : page_(page) {}

  // `leases`: a message is being handled.
  void show(bool leases) {
    using enum shm::AgentActivity;
    const auto now = sleeping_ ? kSleeping : blocked_ ? kBlocked : leases ? kRunning : kIdle;
    if (now == shown_) return;
    shown_ = now;
    page_.activity.relaxed_store(static_cast<std::uint32_t>(now));
  }
  // The user says so.
  void set_sleeping(bool sleeping) { sleeping_ = sleeping; }
  // A call waits. Returns the state before.
  bool set_blocked(bool blocked) { return std::exchange(blocked_, blocked); }

 private:
  shm::StatusPage& page_;
  shm::AgentActivity shown_ = shm::AgentActivity::kIdle;
  bool blocked_ = false;
  bool sleeping_ = false;
};

}  // namespace beeline
