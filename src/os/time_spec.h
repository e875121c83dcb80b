#pragma once

#include <ctime>

#include <algorithm>
#include <chrono>

namespace beeline::os {

// A duration as the kernel takes it; negative counts as 0.
inline timespec to_timespec(std::chrono::nanoseconds duration) noexcept {
  const auto rest = std::max(duration, std::chrono::nanoseconds::zero());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(rest);
  timespec result{};
  result.tv_sec = whole.count();
  result.tv_nsec = (rest - whole).count();
  return result;
}

// True for the duration that means "for ever".
inline bool is_for_ever(std::chrono::nanoseconds duration) noexcept {
  return duration == std::chrono::nanoseconds::max();
}

}  // namespace beeline::os
