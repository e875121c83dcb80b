#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/control/keeper_table.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

/// The coordinator's end of the pair. What was said here survives the coordinator: a packet that is
/// in the socket is read by the keeper even if we die right after. Errors of all calls: kClosed
/// (the keeper has gone: so must we), kTimeout, kFull, kSystem. Not thread safe.
class KeeperClient {
 public:
  KeeperClient() noexcept = default;
  explicit KeeperClient(os::PacketSocket socket) noexcept : socket_(std::move(socket)) {}

  /// Takes note of what the keeper holds already.
  void know(const KeptTable& table);

  /// Stores or replaces a record; the keeper gets duplicates of the descriptors. kFull if it would
  /// hold too many of them: a keeper without a free descriptor loses records, and we have no place
  /// left for clients.
  [[nodiscard]] Result<void> keep(std::string_view key, std::string_view value,
                                  std::span<const int> fds);
  /// kFull once links must leave the rest to agents: those who come to read them need some as well.
  [[nodiscard]] Result<void> check_room_for_link() const;
  [[nodiscard]] Result<void> drop(std::string_view key);
  /// A drop that failed is overdue, and so is a record without descriptors in the place of one with
  /// some: the keeper would hold them for ever. Says it again; to be called until it is true. Does
  /// not wait.
  [[nodiscard]] bool settle();
  [[nodiscard]] Result<void> say(std::string_view verb);

  /// The next packet of the keeper, nullopt if none waits.
  [[nodiscard]] Result<std::optional<std::string>> try_next();

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  void forget(std::string_view key);   // it holds no descriptor under it
  void forgive(std::string_view key);  // something newer has been said

  os::PacketSocket socket_;
  std::map<std::string, std::size_t, std::less<>> held_;  // descriptors under each key
  std::size_t total_ = 0;
  std::map<std::string, std::string, std::less<>> overdue_;  // packets, by key
};

}  // namespace beeline::control
