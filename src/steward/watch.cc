#include "src/steward/watch.h"

#include <sys/epoll.h>

#include <array>
#include <cstring>

#include "src/os/error.h"
#include "src/service/log.h"

namespace beeline::steward {

namespace {

constexpr int kMostEvents = 64;
constexpr int kSourceShift = 56;

}  // namespace

Result<Watch> Watch::open() {
  os::UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd.valid()) return os::system_failure("make an epoll descriptor");
  return Watch(std::move(fd));
}

void Watch::add(int fd, Source source, std::int64_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = std::uint64_t{static_cast<std::uint8_t>(source)} << kSourceShift |
                   static_cast<std::uint64_t>(number);
  if (::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  service::log_warn("not_watched", os::system_error("wait for a descriptor").text);
}

void Watch::remove(int fd) {
  if (fd >= 0) (void)::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

const std::vector<Watch::Event>& Watch::wait() {
  std::array<epoll_event, kMostEvents> found{};
  events_.clear();
  const int count = ::epoll_wait(fd_.get(), found.data(), kMostEvents, -1);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t word = found[static_cast<std::size_t>(i)].data.u64;
    events_.push_back({static_cast<Source>(word >> kSourceShift),
                       static_cast<std::int64_t>(word & ((1ULL << kSourceShift) - 1))});
  }
  return events_;
}

}  // namespace beeline::steward
