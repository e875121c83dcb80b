#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

/// What agents, their links and their attaching cost while there are more and more of them.
[[nodiscard]] std::unique_ptr<Benchmark> make_scale();

}  // namespace beeline::bench
