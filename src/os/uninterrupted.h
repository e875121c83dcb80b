#pragma once

#include <cerrno>

namespace beeline::os {

// Repeats a system call until no signal handler interrupts it, and returns its result. For calls
// that fail with -1.
template <typename Call>
auto uninterrupted(Call&& call) noexcept {
  for (;;) {
    const auto outcome = call();
    if (outcome != -1 || errno != EINTR) return outcome;
  }
}

}  // namespace beeline::os
