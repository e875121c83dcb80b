#pragma once
// The limit of open files, which an attach raises for the whole process. A child made by fork gets
// the old one back, as it is a program of its own: one that uses select() would abort at a
// descriptor from 1,024 on.

#include <beeline/result.h>

namespace beeline {

// Raises the soft limit to the hard one. Any thread. Errors: kSystem.
[[nodiscard]] Result<void> raise_fd_limit_for_peers();

// In a child made by fork: takes that back. A fork handler.
void restore_fd_limit_in_child() noexcept;

}  // namespace beeline
