#pragma once

#include <cerrno>

namespace beeline::os {

/// What a system call returns once no signal handler interrupts it any more: makes it again until
/// then. For calls that fail with -1.
template <class Call>
auto uninterrupted(Call&& call) noexcept {
  for (;;) {
    const auto outcome = call();
    if (outcome != -1 || errno != EINTR) return outcome;
  }
}

}  // namespace beeline::os
