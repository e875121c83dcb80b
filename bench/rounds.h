#pragma once
// The one loop that times round trips, both of the limit and of messages: two reads of the clock
// for each round, both inside.

#include <cstdint>
#include <utility>

#include "bench/histogram.h"
#include "src/os/clock.h"

namespace beeline::bench {

// Calls `round(n)` with n = 1, 2, ... until `seconds` are over or it returns false, and records
// the duration of each. Returns the number of rounds.
template <typename Round>
std::uint32_t time_rounds(double seconds, Histogram& histogram, Round&& round) {
  std::int64_t begin = os::monotonic_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  std::uint32_t count = 0;
  for (; begin < end; begin = os::monotonic_ns()) {
    if (!round(++count)) break;
    histogram.record(os::monotonic_ns() - begin);
  }
  return count;
}

}  // namespace beeline::bench
