#pragma once

#include <cstdint>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// Makes a timer on CLOCK_MONOTONIC that is not set, closed on exec. The caller owns it. Errors:
// kSystem (EMFILE).
[[nodiscard]] Result<UniqueFd> create_timer_fd();

// Makes a timer readable from `at_ns` on, or never for 0; replaces the earlier setting. REQUIRES:
// `fd` is from create_timer_fd().
void set_timer(int fd, std::int64_t at_ns) noexcept;

}  // namespace beeline::os
