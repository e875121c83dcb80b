#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// The time to get the next message out of an inbox of a given depth, with mixed ranks, by age and
// rank.
[[nodiscard]] std::unique_ptr<Benchmark> make_inbox();

}  // namespace beeline::bench
