#pragma once

// Dropped connections whose peers have descriptors to receive. The kernel counts a descriptor under
// way for our user until the peer has received it or has closed its end, whether our end is open or
// not. If we closed our end at once, nobody could say how many are under way.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "src/control/shares.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

/// Has the peer received all that was sent to it, or closed its end?
[[nodiscard]] bool has_read_all(const os::PacketSocket& socket) noexcept;

/// Each counts as a connection of its user until the peer has read all. Not thread safe.
class Lingering {
 public:
  struct Connection {
    os::PacketSocket socket;
    uid_t user = 0;
    pid_t process = 0;         ///< that connected
    std::size_t sent_fds = 0;  ///< which the user's shares count already
  };

  /// Ends the connection in both directions; the peer can still read what has arrived.
  void add(std::uint64_t id, Connection connection, Shares& shares);

  /// Closes the connection and gives back what it holds if its peer has read all. Returns whether
  /// it did.
  bool settle(std::uint64_t id, Shares& shares);

  [[nodiscard]] std::size_t count_of(pid_t process) const;
  [[nodiscard]] std::size_t size() const noexcept { return connections_.size(); }

 private:
  std::map<std::uint64_t, Connection> connections_;
};

}  // namespace beeline::control
