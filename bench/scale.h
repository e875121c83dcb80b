#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// The cost of agents, their links and their attaching as their number grows.
[[nodiscard]] std::unique_ptr<Benchmark> make_scale();

}  // namespace beeline::bench
