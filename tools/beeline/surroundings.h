#pragma once

#include <vector>

#include "src/control/hive_paths.h"
#include "tools/beeline/finding.h"

namespace beeline::cli {

// The limits of this process and this machine that a hive can reach. Starts and changes nothing.
[[nodiscard]] std::vector<Finding> look_at_surroundings(const control::HivePaths& paths);

}  // namespace beeline::cli
