#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// How long one parent waits for the results of tasks that it gives to several children at once.
[[nodiscard]] std::unique_ptr<Benchmark> make_together();

}  // namespace beeline::bench
