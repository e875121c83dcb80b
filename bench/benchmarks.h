#pragma once

#include <memory>
#include <vector>

#include "bench/benchmark.h"

namespace beeline::bench {

// All sub-commands, in the order of the help and of the tables.
[[nodiscard]] std::vector<std::unique_ptr<Benchmark>> all_benchmarks();

}  // namespace beeline::bench
