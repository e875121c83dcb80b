#pragma once

#include <vector>

#include "src/control/hive_paths.h"
#include "tools/beeline/finding.h"

namespace beeline::cli {

// Does all that the start of a hive and a first message do, and undoes it. Makes the directory or
// a file in it, starts a hive of its own below it, attaches two agents, and sends. A hive that
// runs in the directory notices nothing. Changes the environment. For single-threaded programs
// only.
[[nodiscard]] std::vector<Finding> try_start(const control::HivePaths& paths);

}  // namespace beeline::cli
