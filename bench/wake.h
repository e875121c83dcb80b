#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

/// Round trips of two agents that sleep, each woken by the other's message, next to a bare round
/// trip of what they sleep on: a futex in receive(), an eventfd where they wait on Agent::fd().
[[nodiscard]] std::unique_ptr<Benchmark> make_wake();

}  // namespace beeline::bench
