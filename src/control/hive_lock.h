#pragma once

#include <string>

#include <beeline/result.h>

#include "src/control/hive_paths.h"
#include "src/os/lock_file.h"

namespace beeline::control {

// The lock of a hive's directory, and the state of the place when we took it.
struct HiveClaim {
  os::LockFile lock;
  std::string text_before;      // of the lock file; empty: no earlier holder, or it ended in
                                // order
  bool made_directory = false;  // by us, as far as we can see
};

// Makes the directory of a hive and takes its lock. If another keeper holds it, waits until that
// one listens (kAlreadyRunning) or has ended. Errors: kAlreadyRunning (names the holder and its
// start), kDenied (the directory), kSystem.
[[nodiscard]] Result<HiveClaim> acquire_hive(const HivePaths& paths);

}  // namespace beeline::control
