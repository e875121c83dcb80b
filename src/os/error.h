#pragma once

#include <string>

#include <beeline/result.h>

namespace beeline::os {

/// Captures `errno` as it stands and makes an error of kind kSystem out of it: "what: reason (errno
/// N)". `what` names the call and its object. REQUIRES: called directly after the failing call.
[[nodiscard]] Error system_error(std::string what);

/// The same for an errno that was kept: `sys_errno` is positive, `code` is the kind to report.
[[nodiscard]] Error system_error(ErrorCode code, int sys_errno, std::string what);

/// `system_error(what)`, ready to be returned from a function that yields a `Result`.
[[nodiscard]] tl::unexpected<Error> system_failure(std::string what);

/// `system_error(code, sys_errno, what)`, ready to be returned.
[[nodiscard]] tl::unexpected<Error> system_failure(ErrorCode code, int sys_errno, std::string what);

}  // namespace beeline::os
