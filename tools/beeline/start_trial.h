#pragma once

#include <vector>

#include "src/control/hive_paths.h"
#include "tools/beeline/finding.h"

namespace beeline::cli {

/// Does what the start of a hive and a first message do, and takes all of it back: makes the
/// directory or a file in it, starts a hive of its own below it, attaches two agents, sends. A hive
/// that runs there notices nothing. Changes the environment. Single-threaded programs only.
[[nodiscard]] std::vector<Finding> try_start(const control::HivePaths& paths);

}  // namespace beeline::cli
