#pragma once
// What memory can do: a bare copy between two buffers.

#include <cstddef>

#include "bench/histogram.h"

namespace beeline::bench {

/// Copies `bytes` again and again for `seconds`; records how long each copy took. Where they are
/// few, one clock read is for several of them.
void time_copies(std::size_t bytes, double seconds, Histogram& histogram);

}  // namespace beeline::bench
