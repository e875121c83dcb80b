#pragma once
// A peer beside Beeline: the ratio of their figures, where the machine allows one.

#include "bench/table.h"

namespace beeline::bench::peers {

/// What a row is compared by, and the limit of the machine while it was measured.
struct Figure {
  double value = 0.0;  // p50 of a round trip in ns, or messages a second
  double limit_rtt_ns = 0.0;
};

/// Writes `ratio_to_beeline`, `beeline_limit_rtt_ns` and, if there is a ratio, `better`. Where the
/// limits of the two rows differ by more than 30 %, the machine was another one and the ratio is
/// null. `lower_is_better`: a time, not a rate. REQUIRES: `ours` was measured.
void add_ratio(Row& row, bool lower_is_better, const Figure& theirs, const Figure& ours);

}  // namespace beeline::bench::peers
