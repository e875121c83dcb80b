#pragma once
// The cost of a 64-byte message for each side if no cache line moves: two agents of one process
// take turns, a batch at a time.

#include <vector>

#include <beeline/result.h>

#include "bench/parts.h"

namespace beeline::bench {

// They share a hive, which lives as long as they do. Errors: those of its start.
[[nodiscard]] Result<std::vector<Part>> agent_parts();

}  // namespace beeline::bench
