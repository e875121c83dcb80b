#pragma once

// Dropped connections that still have descriptors for their peers to receive. The kernel counts a
// descriptor under way for our user until the peer has received it or has closed its end, even if
// our end is closed. We keep our end open, because otherwise we could not know how many are under
// way.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "src/control/shares.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// True if the peer has received everything sent to it, or closed its end.
[[nodiscard]] bool has_read_all(const os::PacketSocket& socket) noexcept;

// Each connection counts for its user until the peer has read everything. Not thread safe.
class Lingering {
 public:
  struct Connection {
    os::PacketSocket socket;
    uid_t user = 0;
    pid_t process = 0;         // the process that connected
    std::size_t sent_fds = 0;  // how many of them the user's share counts already
  };

  // Ends the connection in both directions; the peer can still read packets that have arrived.
  void add(std::uint64_t id, Connection connection, Shares& shares);

  // If the peer has read everything, closes the connection, gives back its share and returns true.
  bool settle(std::uint64_t id, Shares& shares);

  [[nodiscard]] std::size_t count_of(pid_t process) const;
  [[nodiscard]] std::size_t size() const noexcept { return connections_.size(); }

 private:
  std::map<std::uint64_t, Connection> connections_;
};

}  // namespace beeline::control
