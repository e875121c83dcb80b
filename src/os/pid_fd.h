#pragma once

// A pidfd names one life of one process and never another, even when the number is used again.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// Opens a pidfd of a process that the caller knows to be the right one (itself, its child that was
// not reaped). The caller owns it. Errors: kPeerDead (no such process), kInvalid (pid <= 0),
// kSystem.
[[nodiscard]] Result<UniqueFd> open_pidfd(pid_t pid);

// True once all threads of the process have ended, reaped or not. Then it writes no shared memory
// any more; a process that shares its memory by CLONE_VM still may. False for a descriptor that
// cannot be polled: that is no proof of death. REQUIRES: `pidfd` is known to be one.
[[nodiscard]] bool has_exited(int pidfd) noexcept;

// Sends a signal to that very process; 0 only asks. Errors: kPeerDead, kDenied, kInvalid (not a
// pidfd, or no such signal), kSystem.
[[nodiscard]] Result<void> send_signal(int pidfd, int signal_number);

// The pid of the process as seen from our pid namespace. Errors: kInvalid (not a pidfd), kPeerDead
// (ended and reaped), kDenied (it lives in a pid namespace that we cannot see), kSystem (no
// /proc).
[[nodiscard]] Result<pid_t> pid_of(int pidfd);

// A number that no other process has or ever had since the host was started, in any namespace;
// nullopt before Linux 6.9, which gives none.
[[nodiscard]] std::optional<std::uint64_t> process_number(int pidfd) noexcept;

// The fallback for a kernel without SO_PEERPIDFD, where the peer sends a pidfd of itself.
// `expected` is the pid that the kernel named for the socket; 0 means that it is in a pid
// namespace that we cannot see, and is refused. Errors: kDenied with the reason (other namespace,
// another process, a thread's pidfd), kPeerDead, kProtocol (not a pidfd), kSystem.
[[nodiscard]] Result<void> check_pidfd(int pidfd, pid_t expected);

}  // namespace beeline::os
