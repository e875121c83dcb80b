#pragma once
// The minimum that a run must have done: a sweep that sweeps nothing must not pass.

#include "tests/killpoints/report.h"

namespace beeline::killpoints {

struct Extent {
  bool is_long = false;  // with --long
  bool is_whole = true;  // all scenarios; otherwise a single one
};

// Adds the shortfalls of the run to the summary.
void check_promises(Summary& summary, const Extent& extent);

}  // namespace beeline::killpoints
