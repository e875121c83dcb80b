#pragma once
// What the parts of a message cost in one process, where no line moves between CPUs: measured by
// Google Benchmark.

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

[[nodiscard]] std::unique_ptr<Benchmark> make_primitives();

}  // namespace beeline::bench
