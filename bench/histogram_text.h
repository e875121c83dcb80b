#pragma once

#include <string>
#include <vector>

#include "bench/histogram.h"

namespace beeline::bench {

// The percentiles in the form that HdrHistogram's tools print and plot: a line for each step, five
// steps for each halving of the rest, and a foot with mean, deviation, maximum and count.
[[nodiscard]] std::string percentile_text(const Histogram& histogram);

// One line of such a text.
struct PercentilePoint {
  double value = 0.0;
  // 1 / (1 - percentile). At percentile 1 that would be infinite: the count of all, or the value
  // of the line before if it is more.
  double inverse = 1.0;
};

// The lines of a text that percentile_text() or another tool of HdrHistogram wrote; none for any
// other text.
[[nodiscard]] std::vector<PercentilePoint> percentile_points(const std::string& text);

}  // namespace beeline::bench
