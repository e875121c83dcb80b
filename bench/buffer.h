#pragma once

#include <memory>

#include "bench/benchmark.h"

namespace beeline::bench {

// The durable buffer beside the bare disk, SQLite, Redis and NATS.
[[nodiscard]] std::unique_ptr<Benchmark> make_buffer();

}  // namespace beeline::bench
