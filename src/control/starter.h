#pragma once

#include <chrono>

#include <beeline/result.h>

#include "src/control/hive_paths.h"

namespace beeline::control {

/// Starts `beelined` for a hive and returns once somebody listens on its socket: the one started
/// here (true), or one that another process started at the same time. The program is $BEELINE_BIN
/// (itself or the directory that it lies in), else the one beside our executable, else the
/// installed one, else the one in PATH; one that others could have written is passed over
/// (program_check.h). $BEELINE_MAX_PAYLOAD is the largest payload of the hive in bytes,
/// $BEELINE_GROUP and $BEELINE_FORGET_EMPTY_AFTER are as `beeline up` has them. Errors:
/// kNoCoordinator (not found, or it said why it ended), kInvalid (a variable), kTimeout, kSystem.
[[nodiscard]] Result<bool> start_coordinator(const HivePaths& paths,
                                             std::chrono::nanoseconds deadline);

}  // namespace beeline::control
