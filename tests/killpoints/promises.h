#pragma once
// What a run must have done: a sweep that sweeps nothing must not pass.

#include "tests/killpoints/report.h"

namespace beeline::killpoints {

struct Extent {
  bool is_long = false;  // with --long
  bool is_whole = true;  // all scenarios; else one alone
};

// Adds to the summary what the run falls short of.
void check_promises(Summary& summary, const Extent& extent);

}  // namespace beeline::killpoints
