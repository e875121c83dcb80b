#pragma once
// Asking the coordinator in a call in which the user wants nothing of it.

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/agent/core.h"

namespace beeline {

// While one exists the coordinator is waited for less long, and not at all where it has gone.
class AgentCore::Unasked {
 public:
  explicit Unasked(AgentCore& core) : core_(core), before_(std::exchange(core.unasked_, true)) {
    core_.client_.set_deadline(std::min(core_.options_.control_timeout, kLongest));
  }
  ~Unasked() {
    core_.unasked_ = before_;
    if (!before_) core_.client_.set_deadline(core_.options_.control_timeout);
  }
  Unasked(const Unasked&) = delete;
  Unasked& operator=(const Unasked&) = delete;

 private:
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds(2);

  AgentCore& core_;
  bool before_;
};

}  // namespace beeline
