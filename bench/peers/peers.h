#pragma once
// `beeline-bench peers`: the neighbours next to Beeline, in one run. See docs/peers.md.

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench::peers {

[[nodiscard]] std::unique_ptr<Benchmark> make_peers();

}  // namespace beeline::bench::peers
