#include "src/os/joint_fd.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "src/os/error.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {

namespace {

constexpr std::size_t kMostAtOnce = 32;

}  // namespace

Result<UniqueFd> create_joint_fd() {
  UniqueFd joint(::epoll_create1(EPOLL_CLOEXEC));
  if (!joint.valid()) return system_failure("create epoll descriptor");
  return joint;
}

Result<void> add_to_joint(int joint, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(joint, EPOLL_CTL_ADD, fd, &event) != 0) {
    return system_failure("add fd " + std::to_string(fd) + " to an epoll descriptor");
  }
  return {};
}

void remove_from_joint(int joint, int fd) noexcept {
  (void)::epoll_ctl(joint, EPOLL_CTL_DEL, fd, nullptr);
}

std::size_t ready_in_joint(int joint, std::span<int> ready) noexcept {
  std::array<epoll_event, kMostAtOnce> events{};
  const int most = static_cast<int>(std::min(ready.size(), events.size()));
  const int count = uninterrupted([&] { return ::epoll_wait(joint, events.data(), most, 0); });
  const auto found = static_cast<std::size_t>(std::max(count, 0));
  for (std::size_t i = 0; i < found; ++i) ready[i] = events[i].data.fd;
  return found;
}

}  // namespace beeline::os
