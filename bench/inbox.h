#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

/// What it takes to get the next message out of an inbox that is so deep: ranks mixed, in the order
/// of age and rank.
[[nodiscard]] std::unique_ptr<Benchmark> make_inbox();

}  // namespace beeline::bench
