#include "tools/beeline/command_lease.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_paths.h"
#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"

namespace beeline::cli {
namespace {

// Pause between two tries while the holder is attaching or leaving, when no event tells of its end.
constexpr std::chrono::milliseconds kLeaseRetry(5);
constexpr std::chrono::seconds kLeaseLook(1);

socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(&address.sun_path[1], name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool is_another_users(int connection) {
  ucred holder{};
  socklen_t length = sizeof holder;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &holder, &length) == 0 &&
         holder.uid != ::geteuid();
}

os::UniqueFd make_lease_socket() {
  return os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Result<CommandLease> CommandLease::of(const Context& context, const Agent& agent) {
  const auto paths = control::find_hive(context.hive);
  if (!paths) return tl::unexpected(paths.error());
  // The directory itself is the key, because several paths may lead to it.
  struct stat directory {};
  if (::stat(paths->directory.c_str(), &directory) != 0) {
    return os::system_failure("cannot look at " + paths->directory);
  }
  return CommandLease(fmt::format("beeline-commands/{}.{}/{}/{}", directory.st_dev,
                                  directory.st_ino, ::geteuid(), agent.pid()));
}

Result<CommandLease::Wait> CommandLease::acquire(Agent& agent, Signals& signals) {
  bool is_told = false;
  os::UniqueFd holder;
  for (auto since = std::chrono::steady_clock::now();;) {
    const auto held = try_acquire();
    if (!held) return tl::unexpected(held.error());
    if (*held) return Wait::kHeld;
    if (signals.take()) return Wait::kSignal;
    if (has_shut_down(agent)) return Wait::kShutdown;
    if (!is_told && std::chrono::steady_clock::now() - since > kLeaseLook) {
      remark(fmt::format("waits until the commands of an earlier `beeline reply {}` have ended",
                         agent.name()));
      is_told = true;
    }
    if (!holder.valid()) holder = watch_holder();
    if (holder.valid() && is_another_users(holder.get())) return Wait::kHeld;
    const std::array<int, 2> fds{holder.get(), signals.fd()};
    if (!os::poll_readable(fds, holder.valid() ? kLeaseLook : kLeaseRetry).empty()) holder.reset();
  }
}

Result<bool> CommandLease::try_acquire() {
  os::UniqueFd socket = make_lease_socket();
  if (!socket.valid()) return os::system_failure("cannot make a socket");
  sockaddr_un address;
  const socklen_t length = abstract_address(name_, address);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno == EADDRINUSE) return false;
    return os::system_failure("cannot bind the socket that reserves the right to run commands");
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) return os::system_failure("cannot listen");
  socket_ = std::move(socket);
  return true;
}

// A connection that ends when the last holder does; none if we cannot connect now.
os::UniqueFd CommandLease::watch_holder() const {
  os::UniqueFd watch = make_lease_socket();
  sockaddr_un address;
  const socklen_t length = abstract_address(name_, address);
  if (!watch.valid() ||
      ::connect(watch.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return {};
  }
  return watch;
}

}  // namespace beeline::cli
