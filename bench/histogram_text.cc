#include "bench/histogram_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace beeline::bench {
namespace {

constexpr double kStepsPerHalving = 5.0;

// The next percentile to print after `percent`.
double step_after(double percent) {
  const double halvings = std::floor(std::log2(100.0 / (100.0 - percent))) + 1.0;
  return percent + 100.0 / (kStepsPerHalving * std::exp2(halvings));
}

std::string line(const Histogram& histogram, std::size_t index, double percent,
                 std::uint64_t count) {
  const std::uint64_t value = std::min(Histogram::highest_of(index), histogram.max());
  std::string text =
      fmt::format("{:12.3f} {:2.12f} {:10}", static_cast<double>(value), percent / 100.0, count);
  if (percent < 100.0) text += fmt::format(" {:14.2f}", 100.0 / (100.0 - percent));
  return text + "\n";
}

struct Spread {
  double mean = 0.0;
  double deviation = 0.0;
};

// From the middle value of each counter.
Spread spread_of(const Histogram& histogram) {
  if (histogram.count() == 0) return {};
  const auto count = static_cast<double>(histogram.count());
  const auto sum_over = [&](auto&& of) {
    double sum = 0.0;
    for (std::size_t i = 0; i < Histogram::kCounters; ++i) {
      const std::uint64_t wide = Histogram::highest_of(i) - Histogram::lowest_of(i) + 1;
      const auto middle = static_cast<double>(Histogram::lowest_of(i) + wide / 2);
      if (histogram.count_at(i) != 0)
        sum += static_cast<double>(histogram.count_at(i)) * of(middle);
    }
    return sum / count;
  };
  Spread spread;
  spread.mean = sum_over([](double value) { return value; });
  spread.deviation = std::sqrt(
      sum_over([&](double value) { return (value - spread.mean) * (value - spread.mean); }));
  return spread;
}

}  // namespace

std::string percentile_text(const Histogram& histogram) {
  std::string text = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                 "TotalCount", "1/(1-Percentile)");
  const auto total = static_cast<double>(histogram.count());
  std::uint64_t seen = 0;
  double percent = 0.0;
  for (std::size_t i = 0; i < Histogram::kCounters && seen < histogram.count(); ++i) {
    if (histogram.count_at(i) == 0) continue;
    seen += histogram.count_at(i);
    const bool is_last = seen == histogram.count();
    while (percent <= 100.0 * static_cast<double>(seen) / total) {
      text += line(histogram, i, percent, seen);
      percent = step_after(percent);
      if (is_last) break;
    }
    if (is_last) text += line(histogram, i, 100.0, seen);
  }
  const Spread spread = spread_of(histogram);
  text += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", spread.mean,
                      spread.deviation);
  text += fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n",
                      static_cast<double>(histogram.max()), histogram.count());
  text += fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n",
                      Histogram::kCounters / Histogram::kHalf - 1, 2 * Histogram::kHalf);
  return text;
}

}  // namespace beeline::bench
