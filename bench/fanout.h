#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// How many messages a second one agent sends to several, one by one or by Agent::broadcast().
[[nodiscard]] std::unique_ptr<Benchmark> make_fanout();

}  // namespace beeline::bench
