#include "src/control/identity.h"

#include <utility>

#include <fmt/format.h>

#include "src/os/pid_fd.h"

namespace beeline::control {

Result<SharedFd> identify(const Caller& caller, bool sent_pidfd, std::vector<os::UniqueFd>& fds) {
  os::UniqueFd sent;
  if (sent_pidfd && !fds.empty()) {
    sent = std::move(fds.front());
    fds.erase(fds.begin());
  }
  SharedFd pidfd = caller.pidfd;
  if (pidfd == nullptr) {
    if (!sent.valid()) {
      return fail(ErrorCode::kDenied,
                  "this kernel has no SO_PEERPIDFD: attach must bring a pidfd of its process");
    }
    if (auto good = os::check_pidfd(sent.get(), caller.os_pid); !good) {
      return tl::unexpected(std::move(good.error()));
    }
    pidfd = share(std::move(sent));
  }
  if (os::has_exited(pidfd->get())) {
    return fail(ErrorCode::kPeerDead, fmt::format("process {} has ended", caller.os_pid));
  }
  return pidfd;
}

bool same_process(int pidfd, int other) {
  const auto pid = os::pid_of(pidfd);
  const auto other_pid = os::pid_of(other);
  if (!pid || !other_pid || *pid != *other_pid) return false;
  // Two processes have the same number only one after the other.
  return !os::has_exited(pidfd) && !os::has_exited(other);
}

}  // namespace beeline::control
