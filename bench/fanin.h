#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// How many messages a second one agent takes from several senders, those of each in order.
[[nodiscard]] std::unique_ptr<Benchmark> make_fanin();

}  // namespace beeline::bench
