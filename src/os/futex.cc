#include "src/os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "shm/mutant.h"
#include "src/os/time_spec.h"

namespace beeline::os {

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
    // ETIMEDOUT; anything else is a word that cannot be waited on: the caller looks again.
    default:
      return WaitOutcome::kTimeout;
  }
}

int futex_wake_all(const void* word) noexcept {
  const int most = shm::is_mutant(shm::Mutant::kWakeOne) ? 1 : std::numeric_limits<int>::max();
  const long woken = ::syscall(SYS_futex, word, FUTEX_WAKE, most, nullptr, nullptr, 0);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

}  // namespace beeline::os
