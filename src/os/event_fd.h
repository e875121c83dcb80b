#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// Makes an eventfd, closed on exec, not blocking. The caller owns it. Errors: kSystem (EMFILE).
[[nodiscard]] Result<UniqueFd> create_event_fd();

// Accepts a descriptor that a peer sent only if it is an eventfd, not blocking: writing to
// anything else could block or raise SIGPIPE. Errors: kProtocol, naming the kind that was found;
// kSystem (no /proc).
[[nodiscard]] Result<void> check_event_fd(int fd);

// Makes an eventfd readable; a saturated one stays readable, which is as good. Errors are ignored:
// the ring of a dead peer has no effect. The call never blocks on an eventfd with honest holders.
// A hostile holder can saturate it and clear O_NONBLOCK, which all holders share; we narrow that
// to a race by looking first whether there is room.
void signal_event(int fd) noexcept;

// Takes all signals out of an eventfd. True if there were any. Does not block.
bool drain_event(int fd) noexcept;

// Waits until `fd` is readable or hung up, at most for `timeout` (negative counts as 0,
// nanoseconds::max() means for ever). False after the timeout or if a signal handler ran.
[[nodiscard]] bool wait_readable(int fd, std::chrono::nanoseconds timeout) noexcept;

// Waits for room to write in the same way.
[[nodiscard]] bool wait_writable(int fd, std::chrono::nanoseconds timeout) noexcept;

// Waits until one or more of `fds` are readable or hung up and returns their indices in `fds`,
// rising; empty after the timeout or if a signal handler ran. Negative descriptors are skipped. A
// closed one counts as readable, so that its reader finds the error. Timeout as above.
[[nodiscard]] std::vector<std::size_t> poll_readable(std::span<const int> fds,
                                                     std::chrono::nanoseconds timeout);

}  // namespace beeline::os
