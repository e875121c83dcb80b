#pragma once
// The cost of the parts of a message in one process, without cache lines that move between CPUs,
// measured with Google Benchmark.

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

[[nodiscard]] std::unique_ptr<Benchmark> make_primitives();

}  // namespace beeline::bench
