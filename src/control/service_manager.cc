#include "src/control/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "src/os/packet_socket.h"

namespace beeline::control {
namespace {

constexpr int kFirstGiven = 3;

// The value of a variable, which is unset; empty if there is none.
std::string take_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

// A number without sign; -1 for any other text.
int number(const std::string& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

// The address of a local socket: of a path, or, where it begins with '@', an abstract one.
std::optional<std::pair<sockaddr_un, socklen_t>> address_of(const std::string& name) {
  sockaddr_un address{};
  if (name.size() < 2 || name.size() >= sizeof address.sun_path) return std::nullopt;
  if (name[0] != '/' && name[0] != '@') return std::nullopt;
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path);
  if (name[0] == '@') address.sun_path[0] = '\0';
  const std::size_t length = offsetof(sockaddr_un, sun_path) + name.size();
  return std::pair(address, static_cast<socklen_t>(length));
}

os::UniqueFd connect_to(const std::string& name) {
  const auto address = address_of(name);
  if (!address) return {};
  os::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval limit{1, 0};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un to = address->first;
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), address->second) != 0) return {};
  return fd;
}

// Whether it is a socket that listens under this path.
bool listens_at(int fd, const std::string& path) {
  int listening = 0;
  socklen_t length = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) return false;
  sockaddr_un address{};
  length = sizeof address;
  const bool named = ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  return listening != 0 && named && path == address.sun_path;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  ServiceManager manager;
  manager.socket_ = connect_to(take_variable("NOTIFY_SOCKET"));
  const int pid = number(take_variable("LISTEN_PID"));
  const int count = number(take_variable("LISTEN_FDS"));
  std::string names = take_variable("LISTEN_FDNAMES");
  if (pid != ::getpid()) return manager;
  for (int i = 0; i < count; ++i) {
    (void)::fcntl(kFirstGiven + i, F_SETFD, FD_CLOEXEC);
    const std::size_t end = std::min(names.find(':'), names.size());
    manager.given_.emplace(names.substr(0, end), os::UniqueFd(kFirstGiven + i));
    names.erase(0, end + 1);
  }
  return manager;
}

bool ServiceManager::say(std::string_view text, std::span<const int> fds) const {
  return socket_.valid() && os::send_packet(socket_.get(), text, fds, 0) >= 0;
}

os::UniqueFd ServiceManager::take_listener(const std::string& path) {
  for (auto& [name, fd] : given_) {
    if (listens_at(fd.get(), path)) return std::move(fd);
  }
  return {};
}

os::UniqueFd ServiceManager::take(const std::string& name) {
  const auto found = given_.find(name);
  return found == given_.end() ? os::UniqueFd() : std::move(found->second);
}

std::string ServiceManager::last_name(std::string_view prefix) const {
  std::string last;
  for (const auto& [name, fd] : given_) {
    if (name.starts_with(prefix)) last = name;
  }
  return last;
}

}  // namespace beeline::control
