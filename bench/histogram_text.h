#pragma once

#include <string>
#include <vector>

#include "bench/histogram.h"

namespace beeline::bench {

/// The percentiles as HdrHistogram's tools print and plot them: a line for each step, five steps
/// for each halving of what is above, and a foot with mean, deviation, maximum and count.
[[nodiscard]] std::string percentile_text(const Histogram& histogram);

/// One line of such a text.
struct PercentilePoint {
  double value = 0.0;
  /// 1 / (1 - percentile); where the percentile is 1, which would be infinite, the count of all, or
  /// that of the line before if it is more.
  double inverse = 1.0;
};

/// The lines of a text that percentile_text() or another tool of HdrHistogram wrote; none if it is
/// something else.
[[nodiscard]] std::vector<PercentilePoint> percentile_points(const std::string& text);

}  // namespace beeline::bench
