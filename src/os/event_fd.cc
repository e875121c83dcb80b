#include "src/os/event_fd.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/os/error.h"
#include "src/os/time_spec.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {
namespace {

constexpr std::size_t kPollOnStack = 32;

int poll_all(std::span<pollfd> entries, std::chrono::nanoseconds timeout) noexcept {
  const timespec limit = to_timespec(timeout);
  return ::ppoll(entries.data(), entries.size(), is_for_ever(timeout) ? nullptr : &limit, nullptr);
}

bool wait_for(int fd, short events, std::chrono::nanoseconds timeout) noexcept {
  pollfd entry{fd, events, 0};
  return poll_all({&entry, 1}, timeout) > 0;
}

// Asks about now, also if a signal interrupts the poll, because callers do not ask again.
bool is_ready(int fd, short events) noexcept {
  pollfd entry{fd, events, 0};
  return uninterrupted([&] { return poll_all({&entry, 1}, std::chrono::nanoseconds::zero()); }) > 0;
}

std::vector<std::size_t> poll_entries(std::span<pollfd> entries, std::span<const int> fds,
                                      std::chrono::nanoseconds timeout) {
  for (std::size_t i = 0; i < fds.size(); ++i) entries[i] = pollfd{fds[i], POLLIN, 0};
  std::vector<std::size_t> ready;
  if (poll_all(entries, timeout) <= 0) return ready;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents != 0) ready.push_back(i);
  }
  return ready;
}

}  // namespace

Result<UniqueFd> create_event_fd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return system_failure("create eventfd");
  return fd;
}

Result<void> check_event_fd(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return system_failure("readlink " + link);
  const std::string_view kind(target.data(), static_cast<std::size_t>(length));
  // No path can look like this: paths start with a slash.
  if (kind != "anon_inode:[eventfd]") {
    return fail(ErrorCode::kProtocol, "fd " + std::to_string(fd) + " from a peer: expected " +
                                          "anon_inode:[eventfd], found " + std::string(kind) +
                                          "; drop the peer");
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return system_failure("fcntl F_GETFL of eventfd " + std::to_string(fd));
  if ((flags & O_NONBLOCK) == 0) {
    return fail(ErrorCode::kProtocol, "eventfd " + std::to_string(fd) +
                                          " from a peer: expected O_NONBLOCK, found a blocking "
                                          "one; drop the peer");
  }
  return {};
}

void signal_event(int fd) noexcept {
  // SUBTLE: no room means that the eventfd is saturated, hence readable. The write must not be
  // tried then: any holder can have cleared O_NONBLOCK, and an eventfd takes no RWF_NOWAIT for
  // writing.
  if (!is_ready(fd, POLLOUT)) return;
  const std::uint64_t one = 1;
  (void)uninterrupted([&] { return ::write(fd, &one, sizeof one); });
}

bool drain_event(int fd) noexcept {
  std::uint64_t count = 0;
  iovec piece{&count, sizeof count};
  ssize_t taken = 0;
  do {
    taken = ::preadv2(fd, &piece, 1, -1, RWF_NOWAIT);
    if (taken < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
      if (!is_ready(fd, POLLIN)) return false;
      taken = ::read(fd, &count, sizeof count);
    }
  } while (taken < 0 && errno == EINTR);
  return taken > 0;
}

bool wait_readable(int fd, std::chrono::nanoseconds timeout) noexcept {
  return wait_for(fd, POLLIN, timeout);
}

bool wait_writable(int fd, std::chrono::nanoseconds timeout) noexcept {
  return wait_for(fd, POLLOUT, timeout);
}

std::vector<std::size_t> poll_readable(std::span<const int> fds, std::chrono::nanoseconds timeout) {
  if (fds.size() <= kPollOnStack) {
    std::array<pollfd, kPollOnStack> entries{};
    return poll_entries(std::span(entries).first(fds.size()), fds, timeout);
  }
  std::vector<pollfd> entries(fds.size());
  return poll_entries(entries, fds, timeout);
}

}  // namespace beeline::os
