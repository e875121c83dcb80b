#pragma once

// Changes that failed, for example because the disk was full, and are tried again.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "src/buffer/service/alarms.h"
#include "src/os/clock.h"

namespace beeline::buffer {

class Again {
 public:
  explicit Again(Alarms& alarms) : alarms_(alarms) {}

  // Calls `change` in a second.
  void add(std::function<void()> change) {
    changes_.push_back(std::move(change));
    if (!alarms_.is_set(Duty::kAgain)) {
      alarms_.set(Duty::kAgain, os::monotonic_ns() + kPauseNs);
    }
  }
  // At the alarm. A change that fails once more adds itself anew.
  void run() {
    const auto changes = std::exchange(changes_, {});
    for (const auto& change : changes) change();
  }

 private:
  static constexpr std::int64_t kPauseNs = 1'000'000'000;
  Alarms& alarms_;
  std::vector<std::function<void()>> changes_{};
};

}  // namespace beeline::buffer
