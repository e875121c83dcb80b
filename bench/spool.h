#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// The steps of a task folder beside the bare system calls that they need.
[[nodiscard]] std::unique_ptr<Benchmark> make_spool();

}  // namespace beeline::bench
