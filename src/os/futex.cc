#include "src/os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "src/os/time_spec.h"

namespace beeline::os {

namespace {

// How many threads it woke, -1 with errno.
int wake(const void* word, int most) noexcept {
  return static_cast<int>(::syscall(SYS_futex, word, FUTEX_WAKE, most, nullptr, nullptr, 0));
}

}  // namespace

WaitOutcome futex_wait(const void* word, std::uint32_t expected,
                       std::chrono::nanoseconds timeout) noexcept {
  const timespec limit = to_timespec(timeout);
  const timespec* const limit_or_null = is_for_ever(timeout) ? nullptr : &limit;
  if (::syscall(SYS_futex, word, FUTEX_WAIT, expected, limit_or_null, nullptr, 0) == 0) {
    return WaitOutcome::kWoken;
  }
  switch (errno) {
    case EAGAIN:
      return WaitOutcome::kChanged;
    case EINTR:
      return WaitOutcome::kInterrupted;
    // ETIMEDOUT. Any other error means a word that cannot be waited on: the caller looks again.
    default:
      return WaitOutcome::kTimeout;
  }
}

int futex_wake_all(const void* word) noexcept {
  return std::max(wake(word, std::numeric_limits<int>::max()), 0);
}

bool can_wake(const void* word) noexcept { return wake(word, 0) == 0; }

}  // namespace beeline::os
