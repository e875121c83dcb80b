#pragma once

// Times in JSON. Durations are in milliseconds (`*_ms`), points in time in milliseconds since 1970
// (`*_unix_ms`), both with decimals if these mean something. Readers keep numbers as doubles, which
// cannot hold nanoseconds since 1970 exactly.

#include <chrono>
#include <cstdint>

#include "src/os/clock.h"

namespace beeline::cli {

[[nodiscard]] inline double milliseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

// When a message was sent, from Message::sent_ns(), by the present wall clock. That clock may have
// jumped since, and a suspended machine does not count the time.
[[nodiscard]] inline std::int64_t sent_unix_ms(std::int64_t sent_ns) {
  return (os::realtime_ns() - (os::monotonic_ns() - sent_ns)) / 1'000'000;
}

}  // namespace beeline::cli
