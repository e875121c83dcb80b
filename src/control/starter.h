#pragma once

#include <chrono>

#include <beeline/result.h>

#include "src/control/hive_paths.h"

namespace beeline::control {

// Starts `beelined` for a hive and returns once one listens on its socket: the one started here
// (true), or one that another process started at the same time. The program is $BEELINE_BIN
// (itself or its directory), else the one beside our executable, else the installed one, else the
// one in PATH; a program that others could have written is skipped (program_check.h).
// $BEELINE_MAX_PAYLOAD is the largest payload of the hive in bytes; $BEELINE_GROUP and
// $BEELINE_FORGET_EMPTY_AFTER are as `beeline up` has them. Errors: kNoCoordinator (not found, or
// its own reason for ending), kInvalid (a variable), kTimeout, kSystem.
[[nodiscard]] Result<bool> start_coordinator(const HivePaths& paths,
                                             std::chrono::nanoseconds deadline);

}  // namespace beeline::control
