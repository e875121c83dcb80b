#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

/// What agents with nothing to do, their lead and the coordinator take of the CPUs.
[[nodiscard]] std::unique_ptr<Benchmark> make_idle();

}  // namespace beeline::bench
