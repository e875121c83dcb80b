#pragma once
// What a message of 64 bytes costs each side where no line moves: two agents of one process that
// take turns, a batch at a time.

#include <vector>

#include <beeline/result.h>

#include "bench/parts.h"

namespace beeline::bench {

/// They share a hive, which lives as long as they do. Errors: those of starting it.
[[nodiscard]] Result<std::vector<Part>> agent_parts();

}  // namespace beeline::bench
