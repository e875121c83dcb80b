#include "src/os/timer_fd.h"

#include <sys/timerfd.h>

#include <chrono>

#include "src/os/error.h"
#include "src/os/time_spec.h"

namespace beeline::os {

Result<UniqueFd> create_timer_fd() {
  UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid()) return system_failure("create timerfd");
  return fd;
}

void set_timer(int fd, std::int64_t at_ns) noexcept {
  const itimerspec when{{}, to_timespec(std::chrono::nanoseconds(at_ns))};
  // Cannot fail: the time is in range and the descriptor is a timer.
  (void)::timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace beeline::os
