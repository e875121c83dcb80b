#include "bench/peers/ratio.h"

#include "bench/case.h"

namespace beeline::bench::peers {

void add_ratio(Row& row, bool lower_is_better, const Figure& theirs, const Figure& ours) {
  row["ratio_to_beeline"] = nullptr;
  row["beeline_limit_rtt_ns"] = ours.limit_rtt_ns;
  if (!limits_agree(theirs.limit_rtt_ns, ours.limit_rtt_ns)) return;
  const double ratio = theirs.value / ours.value;
  row["ratio_to_beeline"] = rounded(ratio);
  row["better"] = lower_is_better ? ratio < 1.0 : ratio > 1.0;
}

}  // namespace beeline::bench::peers
