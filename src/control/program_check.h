#pragma once

#include <optional>
#include <string>

#include <beeline/result.h>

namespace beeline::control {

/// Whether we may execute a program: nobody but we and root may have written it or put it there. It
/// is a regular file of ours or root's; it and every directory above it, once symbolic links are
/// followed, can be written by our user, root and groups without other listed members alone:
/// root's, and the private group of our user, which has its name. In a directory that others may
/// write, a sticky bit is enough. Returns its path without symbolic links, or nothing if there is
/// no such file. Errors: kDenied, saying what is wrong with which file or directory.
[[nodiscard]] Result<std::optional<std::string>> check_program(const std::string& path);

}  // namespace beeline::control
