#pragma once
// What memory can do: a bare copy between two buffers.

#include <algorithm>
#include <cstddef>

#include "bench/histogram.h"

namespace beeline::bench {

/// How many bytes are copied between two reads of the clock, `bytes` at a time: it counts whole
/// nanoseconds, and small copies take hardly more than one.
[[nodiscard]] constexpr std::size_t copied_per_clock(std::size_t bytes) {
  constexpr std::size_t kEnough = 64 << 10;
  return bytes * std::max<std::size_t>(1, kEnough / bytes);
}

/// Copies `bytes` again and again for `seconds`, between two buffers of one process that stay in
/// its caches where they fit; records how long each copied_per_clock(bytes) took.
void time_copies(std::size_t bytes, double seconds, Histogram& histogram);

}  // namespace beeline::bench
