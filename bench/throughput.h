#pragma once
// How many messages go one way in a second, each written, sent, received in order, read, finished.

#include "bench/run.h"

namespace beeline::bench {

/// Errors: those of Agent, and a payload that is not what was sent or not in order.
[[nodiscard]] Result<Outcome> run_throughput(SharedBoard& board, const Case& what);

}  // namespace beeline::bench
