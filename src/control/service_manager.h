#pragma once

// The two directions of a service's talk with systemd: sd_listen_fds() and sd_notify(), without
// libsystemd.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/os/fd.h"

namespace beeline::control {

// The service manager that has started this process, if one has. Not thread safe.
class ServiceManager {
 public:
  // Takes what this process was given ($NOTIFY_SOCKET, $LISTEN_PID, $LISTEN_FDS, $LISTEN_FDNAMES)
  // and unsets the variables, so that no child takes it for its own. Call it once.
  [[nodiscard]] static ServiceManager from_environment();

  // True if a service manager hears say().
  [[nodiscard]] bool listens() const noexcept { return socket_.valid(); }
  // Sends assignments of sd_notify(3), separated by line breaks, and descriptors beside them.
  // Waits at most a second. False: it has not arrived.
  bool say(std::string_view text, std::span<const int> fds = {}) const;

  // Gives out the listener that was bound to `path`, once.
  [[nodiscard]] os::UniqueFd take_listener(const std::string& path);
  // Gives out a descriptor that an earlier process of this service has stored under that name.
  [[nodiscard]] os::UniqueFd take(const std::string& name);
  // The last of the names that begin with `prefix`, in the order of text; none: empty.
  [[nodiscard]] std::string last_name(std::string_view prefix) const;

 private:
  os::UniqueFd socket_;
  std::multimap<std::string, os::UniqueFd> given_;
};

}  // namespace beeline::control
