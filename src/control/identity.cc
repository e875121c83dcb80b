#include "src/control/identity.h"

#include <unistd.h>

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
  // Without a number of its own the process could attach now and never prove later that it is the
  // same.
  if (!os::process_number(pidfd->get())) {
    if (auto visible = os::pid_of(pidfd->get()); !visible) {
      return tl::unexpected(std::move(visible.error()));
    }
  }
  return pidfd;
}

bool same_process(int pidfd, int other) {
  const auto number = os::process_number(pidfd);
  const auto other_number = os::process_number(other);
  if (number && other_number) return *number == *other_number;
  const auto pid = os::pid_of(pidfd);
  const auto other_pid = os::pid_of(other);
  if (!pid || !other_pid || *pid != *other_pid) return false;
  // Two processes have the same number only one after the other.
  return !os::has_exited(pidfd) && !os::has_exited(other);
}

bool is_trusted(uid_t user) { return user == ::geteuid() || user == 0; }

}  // namespace beeline::control
