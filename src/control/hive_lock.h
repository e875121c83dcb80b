#pragma once

#include <beeline/result.h>

#include "src/control/hive_paths.h"
#include "src/os/lock_file.h"

namespace beeline::control {

/// Becomes the one keeper of a hive. If another one holds it, waits until that one listens (it may
/// be starting), so that whoever is told kAlreadyRunning can connect. Errors: kAlreadyRunning
/// (`hive "x" is already run by pid N since <time>`), kSystem.
[[nodiscard]] Result<os::LockFile> acquire_hive(const HivePaths& paths);

}  // namespace beeline::control
