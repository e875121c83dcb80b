#pragma once

#include <string>

#include <beeline/result.h>

namespace beeline::os {

// Makes an error of kind kSystem from the current `errno`: "TEXT: reason (errno N)". The argument
// names the call and its object. REQUIRES: called directly after the failing call.
[[nodiscard]] Error system_error(std::string what);

// Makes an error from a saved errno: `sys_errno` is positive, `code` is the kind to report.
[[nodiscard]] Error system_error(ErrorCode code, int sys_errno, std::string what);

// The error for the current errno as a failure, for a function that returns a `Result`.
[[nodiscard]] tl::unexpected<Error> system_failure(std::string what);

// The error for a saved errno as a failure.
[[nodiscard]] tl::unexpected<Error> system_failure(ErrorCode code, int sys_errno, std::string what);

}  // namespace beeline::os
