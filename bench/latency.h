#pragma once
// Round trips of messages: sent, received, read, finished, answered, received, read, finished.

#include <memory>

#include "bench/benchmark.h"
#include "bench/run.h"

namespace beeline::bench {

// Errors: those of Agent, and a wrong payload.
[[nodiscard]] Result<Outcome> run_latency(SharedBoard& board, const Case& what);

[[nodiscard]] std::unique_ptr<Benchmark> make_latency();

}  // namespace beeline::bench
