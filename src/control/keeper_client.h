#pragma once

#include <span>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/os/packet_socket.h"

namespace beeline::control {

/// The coordinator's end of the pair. What was said here survives the coordinator: a packet that is
/// in the socket is read by the keeper even if we die right after. Errors of all calls: kClosed
/// (the keeper has gone: so must we), kTimeout, kFull, kSystem. Not thread safe.
class KeeperClient {
 public:
  KeeperClient() noexcept = default;
  explicit KeeperClient(os::PacketSocket socket) noexcept : socket_(std::move(socket)) {}

  /// Stores or replaces a record; the keeper gets duplicates of the descriptors.
  [[nodiscard]] Result<void> keep(std::string_view key, std::string_view value,
                                  std::span<const int> fds);
  [[nodiscard]] Result<void> drop(std::string_view key);
  [[nodiscard]] Result<void> say(std::string_view verb);

  /// The next packet of the keeper, nullopt if none waits.
  [[nodiscard]] Result<std::optional<std::string>> try_next();

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  os::PacketSocket socket_;
};

}  // namespace beeline::control
