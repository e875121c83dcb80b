#include "src/os/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace beeline::os {
namespace {

constexpr std::uint32_t kChanges =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

DirectoryWatch::DirectoryWatch() noexcept : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool DirectoryWatch::add(const std::string& directory) noexcept {
  if (!fd_.valid()) return false;
  return ::inotify_add_watch(fd_.get(), directory.c_str(), kChanges | IN_ONLYDIR) >= 0;
}

bool DirectoryWatch::drain() noexcept {
  bool any = false;
  std::array<char, 4096> events{};
  while (fd_.valid() && ::read(fd_.get(), events.data(), events.size()) > 0) any = true;
  return any;
}

}  // namespace beeline::os
