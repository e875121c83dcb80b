#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// A spawn by the steward beside posix_spawn() of the same program.
[[nodiscard]] std::unique_ptr<Benchmark> make_spawn();

}  // namespace beeline::bench
