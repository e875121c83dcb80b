#include "bench/peers/ratio.h"

#include <algorithm>

#include "bench/case.h"

namespace beeline::bench::peers {

namespace {

// How many times the one limit the other one is.
double apart(const Figure& one, const Figure& other) {
  const auto [low, high] = std::minmax(one.limit_rtt_ns, other.limit_rtt_ns);
  return high / low;
}

bool may_be_compared(const Figure& one, const Figure& other) {
  return limits_agree(one.limit_rtt_ns, other.limit_rtt_ns);
}

}  // namespace

std::optional<Figure> Ours::beside(const Figure& theirs) {
  if (figures_.empty()) return std::nullopt;
  const auto nearest = [&] {
    return *std::min_element(figures_.begin(), figures_.end(),
                             [&](const Figure& one, const Figure& other) {
                               return apart(one, theirs) < apart(other, theirs);
                             });
  };
  // The present figure is the first attempt.
  for (int attempt = 1; attempt < most_attempts_; ++attempt) {
    if (may_be_compared(nearest(), theirs)) break;
    if (const auto figure = again_()) add(*figure);
  }
  return nearest();
}

void add_ratio(Row& row, bool lower_is_better, const Figure& theirs, const Figure& ours) {
  row["ratio_to_beeline"] = nullptr;
  row[lower_is_better ? "beeline_rtt_ns" : "beeline_messages_per_s"] = rounded(ours.value);
  row["beeline_limit_rtt_ns"] = ours.limit_rtt_ns;
  if (!may_be_compared(theirs, ours)) return;
  const double ratio = theirs.value / ours.value;
  row["ratio_to_beeline"] = rounded(ratio);
  row["better"] = lower_is_better ? ratio < 1.0 : ratio > 1.0;
}

}  // namespace beeline::bench::peers
