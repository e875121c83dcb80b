#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::os {

// A variable of the environment, empty if it is not set. A program that runs with more rights than
// its caller obeys none. Valid until the variable is changed.
[[nodiscard]] inline std::string_view variable(const char* name) noexcept {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// Raises the soft limit of open files to the hard one. Errors: kSystem.
[[nodiscard]] Result<void> raise_fd_limit();

// Lowers the soft limit of open files to `soft`; a lower one stays. May be called from a fork
// handler.
void lower_fd_limit(std::uint64_t soft) noexcept;

// The first descriptor number that is kept for this process: a peer's descriptor with this number
// or a higher one is never kept. A quarter of the numbers that this process may have, at least 64
// and at most half, lie there. The kernel gives out the lowest free number, so descriptors of
// peers always leave that many to the process itself.
[[nodiscard]] int first_own_fd();

// The number of the next descriptor of this process; -1 if there is none. `fd` is any that is
// open.
[[nodiscard]] int next_fd(int fd);

// Opens /dev/null in the place of each closed standard stream, so that no other file gets its
// number. It is opened the wrong way round, so reading from or writing to such a stream fails, as
// if it were closed. Errors: kSystem.
[[nodiscard]] Result<void> fill_standard_streams();

// Closes every descriptor except the standard streams and those in `keep`; needs no free
// descriptor. Errors: kSystem; then at most one is closed.
[[nodiscard]] Result<void> close_all_but(std::span<const int> keep);

inline constexpr std::uint64_t kNoFdLimit = ~0ULL;
struct FdLimit {
  std::uint64_t soft = 0;  // kNoFdLimit: no limit
  std::uint64_t hard = 0;
};
// How many files this process may have open, now and if it asks for more.
[[nodiscard]] FdLimit fd_limit() noexcept;

// The number of CPUs that this process may run on, at least 1.
[[nodiscard]] int usable_cpus() noexcept;

// Keeps the calling thread on one CPU, counted from 0. Does nothing if that is not allowed.
void pin_to_cpu(int cpu) noexcept;

// Lets another thread run.
void yield() noexcept;

// The directory that the running program lies in, without a slash at the end; "." if /proc cannot
// tell.
[[nodiscard]] std::string executable_directory();

// Starts a program as a child. It inherits stdin, stdout and stderr, other descriptors without
// CLOEXEC, and those named in `keep_fds` (same numbers). Its signal mask is empty. `argv[0]` is
// searched in PATH if it has no slash. The caller reaps it (try_reap). Errors: kInvalid (empty
// argv), kSystem (fork or exec failed; a failed exec leaves no child behind).
[[nodiscard]] Result<pid_t> spawn(const std::vector<std::string>& argv,
                                  std::span<const int> keep_fds = {});

// Starts a program that outlives us: in a session of its own, a child of init that we never reap,
// stdin from /dev/null. stdout and stderr stay as they are; the program redirects them itself. Use
// the pid only while you know by other means that the program lives. Otherwise as spawn().
[[nodiscard]] Result<pid_t> spawn_detached(const std::vector<std::string>& argv,
                                           std::span<const int> keep_fds = {});

// Reaps a child if it has ended and returns its wait status (WIFEXITED ...), nullopt while it
// runs. Does not block. Errors: kSystem (ECHILD: not our child, or reaped before).
[[nodiscard]] Result<std::optional<int>> try_reap(pid_t child);

}  // namespace beeline::os
