#include "src/c/waiting.h"

#include <poll.h>
#include <time.h>

namespace beeline::c {

void sleep_until(int fd, Deadline until) {
  constexpr std::chrono::hours kLongest(1);
  const auto left = until - std::chrono::steady_clock::now();
  const std::chrono::nanoseconds wait =
      std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), kLongest);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  const timespec time{seconds.count(), (wait - seconds).count()};
  pollfd watched{fd, POLLIN, 0};
  // The caller looks again, so every result is good, an interruption too.
  (void)::ppoll(&watched, 1, &time, nullptr);
}

}  // namespace beeline::c
