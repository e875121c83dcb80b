#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// Round trips of two agents that sleep, each woken by the other's message. Beside them a bare
// round trip of the object that they sleep on: a futex in receive(), an eventfd if they wait on
// Agent::fd().
[[nodiscard]] std::unique_ptr<Benchmark> make_wake();

}  // namespace beeline::bench
