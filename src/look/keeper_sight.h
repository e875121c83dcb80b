#pragma once

// Whether the process that holds the segments of a hive can be inspected from here.

#include <sys/types.h>

#include <optional>
#include <string>

#include "src/control/hive_paths.h"

namespace beeline::look {

// The process that holds the lock of a hive, numbered as in our pid namespace; the number in the
// lock file may come from a namespace below ours. Nothing if no process that we may inspect holds
// the lock.
[[nodiscard]] std::optional<pid_t> find_keeper(const std::string& lock_path);

// Why the descriptors of a living keeper cannot be read from here: it runs in another pid
// namespace, or we may not inspect it. Empty if they can be read, or if no keeper lives.
[[nodiscard]] std::string why_keeper_is_hidden(const control::HivePaths& paths);

}  // namespace beeline::look
