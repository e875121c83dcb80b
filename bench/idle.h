#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// The CPU time of agents with nothing to do, of their lead and of the coordinator.
[[nodiscard]] std::unique_ptr<Benchmark> make_idle();

}  // namespace beeline::bench
