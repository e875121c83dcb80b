#include "src/os/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "src/os/error.h"

namespace beeline::os {

void UniqueFd::reset(int fd) noexcept {
  const int old = std::exchange(fd_, fd < 0 ? -1 : fd);
  if (old < 0) return;
  const int saved_errno = errno;
  // Never retried: Linux frees the number even when close() fails.
  ::close(old);
  errno = saved_errno;
}

Result<UniqueFd> duplicate(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return system_failure("duplicate file descriptor " + std::to_string(fd));
  return UniqueFd(copy);
}

}  // namespace beeline::os
