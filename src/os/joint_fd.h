#pragma once

#include <cstddef>
#include <span>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// Makes a descriptor, closed on exec, that is readable while one of the descriptors added to it is
// readable. The caller owns it; it owns none of the others. Errors: kSystem (EMFILE).
[[nodiscard]] Result<UniqueFd> create_joint_fd();

// REQUIRES of all three: `joint` is from create_joint_fd(). Errors: kSystem (no memory; `fd`
// cannot be waited for; `fd` is there already).
[[nodiscard]] Result<void> add_to_joint(int joint, int fd);

// Call it before closing `fd`: another process may hold the same open file, which keeps it in the
// joint.
void remove_from_joint(int joint, int fd) noexcept;

// Writes the descriptors that are readable now to the front of `ready` and returns how many it
// found. Does not block. If there are more than fit, the next calls find them.
[[nodiscard]] std::size_t ready_in_joint(int joint, std::span<int> ready) noexcept;

}  // namespace beeline::os
