#pragma once

// Whether the process that holds the segments of a hive can be looked into from here.

#include <sys/types.h>

#include <optional>
#include <string>

#include "src/control/hive_paths.h"

namespace beeline::dump {

/// The process that holds the lock of a hive, as our pid namespace numbers it: the lock file may
/// name it as a namespace below ours does. Nothing if no process that we may inspect holds it.
[[nodiscard]] std::optional<pid_t> find_keeper(const std::string& lock_path);

/// Why the descriptors of a keeper that lives cannot be read from here: it runs in another pid
/// namespace, or we may not inspect it. Empty where they can be read, and where no keeper lives.
[[nodiscard]] std::string why_keeper_is_hidden(const control::HivePaths& paths);

}  // namespace beeline::dump
