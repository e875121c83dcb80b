#pragma once

#include <string>

#include "bench/histogram.h"

namespace beeline::bench {

/// The percentiles as HdrHistogram's tools print and plot them: a line for each step, five steps
/// for each halving of what is above, and a foot with mean, deviation, maximum and count.
[[nodiscard]] std::string percentile_text(const Histogram& histogram);

}  // namespace beeline::bench
