#pragma once

#include <string>

#include <beeline/result.h>

#include "src/control/hive_paths.h"
#include "src/os/lock_file.h"

namespace beeline::control {

/// The lock of a hive's directory, and how the place was when we took it.
struct HiveClaim {
  os::LockFile lock;
  std::string text_before;      ///< of the lock file; empty: nobody held it, or in order
  bool made_directory = false;  ///< by us, as far as we can see
};

/// Makes the directory of a hive and takes its lock. If another keeper holds it, waits until that
/// one listens (kAlreadyRunning) or has ended. Errors: kAlreadyRunning (says who and since when),
/// kDenied (the directory), kSystem.
[[nodiscard]] Result<HiveClaim> acquire_hive(const HivePaths& paths);

}  // namespace beeline::control
