#include "src/spool/name_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace beeline::spool {
namespace {

constexpr std::uint32_t kWatched =
    IN_CREATE | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;

NameWatch::Kind kind_of(std::uint32_t mask) {
  if ((mask & (IN_MOVED_TO | IN_CLOSE_WRITE)) != 0) return NameWatch::Kind::kCame;
  if ((mask & IN_CREATE) != 0) return NameWatch::Kind::kCreated;
  return NameWatch::Kind::kWent;
}

}  // namespace

NameWatch::NameWatch() noexcept : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool NameWatch::add(const FolderFiles& files, Place place, Wanted wanted) noexcept {
  if (!fd_.valid()) return false;
  // Through the descriptor, so that a rename of a folder above changes nothing.
  const std::string path = fmt::format("/proc/self/fd/{}", files.fd(place));
  int& watch = watches_[static_cast<std::size_t>(place)];
  const std::uint32_t mask = wanted == Wanted::kAll ? kWatched : IN_MOVED_TO | IN_ONLYDIR;
  watch = ::inotify_add_watch(fd_.get(), path.c_str(), mask);
  return watch >= 0;
}

void NameWatch::remove(Place place) noexcept {
  int& watch = watches_[static_cast<std::size_t>(place)];
  if (watch >= 0) ::inotify_rm_watch(fd_.get(), watch);
  watch = -1;
}

std::vector<NameWatch::Event> NameWatch::take() {
  std::vector<Event> events;
  if (!fd_.valid()) return events;
  alignas(inotify_event) std::array<char, 16 * 1024> bytes{};
  for (;;) {
    const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return events;
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* const name = bytes.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) events.push_back({});
      const auto place = std::find(watches_.begin(), watches_.end(), event.wd);
      if (place == watches_.end() || event.len == 0) continue;
      events.push_back({static_cast<Place>(place - watches_.begin()), kind_of(event.mask),
                        std::string(name, ::strnlen(name, event.len))});
    }
    // A part of the buffer was free, so this was all.
    if (static_cast<std::size_t>(got) + sizeof(inotify_event) + 256 < bytes.size()) return events;
  }
}

}  // namespace beeline::spool
