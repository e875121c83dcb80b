#pragma once
// How many messages go one way in a second, each written, sent, received in order, read, finished.

#include <memory>

#include "bench/benchmark.h"
#include "bench/run.h"

namespace beeline::bench {

// Errors: those of Agent, and a payload that is wrong or out of order.
[[nodiscard]] Result<Outcome> run_throughput(SharedBoard& board, const Case& what);

// The fields of streams: size, messages a second, messages for each look of the receiver.
void fill_stream(Row& row, const Case& what, const Outcome& outcome);

[[nodiscard]] std::unique_ptr<Benchmark> make_throughput();

}  // namespace beeline::bench
