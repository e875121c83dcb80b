#pragma once

// Times in JSON: durations are in milliseconds (`*_ms`), points in time in milliseconds since 1970
// (`*_unix_ms`), either with decimals where they say something. Readers keep numbers as doubles,
// which lose the last digits of nanoseconds since 1970.

#include <chrono>
#include <cstdint>

#include "src/os/clock.h"

namespace beeline::cli {

[[nodiscard]] inline double milliseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

/// When a message was sent, from Message::sent_ns(), by the calendar as it is now: that can have
/// jumped since, and a suspended machine does not count the time.
[[nodiscard]] inline std::int64_t sent_unix_ms(std::int64_t sent_ns) {
  return (os::realtime_ns() - (os::monotonic_ns() - sent_ns)) / 1'000'000;
}

}  // namespace beeline::cli
