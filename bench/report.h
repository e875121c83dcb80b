#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// Makes tables, and one page with pictures, of rows that were written with --json.
[[nodiscard]] std::unique_ptr<Benchmark> make_report();

}  // namespace beeline::bench
