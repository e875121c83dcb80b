#include "src/os/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "src/os/error.h"

namespace beeline::os {

int UniqueFd::move_up(int fd) noexcept {
  if (fd < 0) return -1;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFd);
  const int saved_errno = errno;
  ::close(fd);
  errno = saved_errno;
  return moved;
}

void UniqueFd::reset(int fd) noexcept {
  const int old = std::exchange(fd_, fd >= kFirstFd ? fd : move_up(fd));
  if (old < 0) return;
  const int saved_errno = errno;
  // Never retried: Linux frees the number even when close() fails.
  ::close(old);
  errno = saved_errno;
}

Result<UniqueFd> duplicate(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFd);
  if (copy < 0) return system_failure("duplicate file descriptor " + std::to_string(fd));
  return UniqueFd(copy);
}

}  // namespace beeline::os
