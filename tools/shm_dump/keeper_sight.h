#pragma once

// Whether the process that holds the segments of a hive can be looked into from here.

#include <string>

#include "src/control/hive_paths.h"

namespace beeline::dump {

/// Why the descriptors of a keeper that lives cannot be read from here: it runs in another pid
/// namespace, or we may not inspect it. Empty where they can be read, and where no keeper lives.
[[nodiscard]] std::string why_keeper_is_hidden(const control::HivePaths& paths);

}  // namespace beeline::dump
