#pragma once

#include <string>

#include "bench/histogram.h"

namespace beeline::bench {

// The percentiles in the form that HdrHistogram's tools print and plot: a line for each step, five
// steps for each halving of the rest, and a foot with mean, deviation, maximum and count.
[[nodiscard]] std::string percentile_text(const Histogram& histogram);

}  // namespace beeline::bench
