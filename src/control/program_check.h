#pragma once

#include <optional>
#include <string>

#include <beeline/result.h>

namespace beeline::control {

// Checks that we may execute a program: only our user and root may have written it or put it
// there. It must be a regular file of ours or root's. It and every directory above it, once
// symbolic links are followed, may be writable only by our user, root and groups without other
// listed members: root's group, and the private group of our user, which has the user's name. For
// a directory that others may write, a sticky bit is enough. Returns its path without symbolic
// links, or nothing if there is no such file. Errors: kDenied, naming the file or directory and
// its fault.
[[nodiscard]] Result<std::optional<std::string>> check_program(const std::string& path);

}  // namespace beeline::control
