#pragma once
// The speed of memory: a bare copy between two buffers.

#include <algorithm>
#include <cstddef>

#include "bench/histogram.h"

namespace beeline::bench {

// How many bytes are copied between two reads of the clock, `bytes` at a time: the clock counts
// whole nanoseconds, and a small copy takes hardly more than one.
[[nodiscard]] constexpr std::size_t copied_per_clock(std::size_t bytes) {
  constexpr std::size_t kEnough = 64 << 10;
  return bytes * std::max<std::size_t>(1, kEnough / bytes);
}

// Copies `bytes` repeatedly for `seconds`, between two buffers of one process that stay in its
// caches if they fit. Records how long each copied_per_clock(bytes) took.
void time_copies(std::size_t bytes, double seconds, Histogram& histogram);

}  // namespace beeline::bench
