#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
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
  /// What fails is overdue.
  [[nodiscard]] Result<void> drop(std::string_view key);
  /// Drops what is overdue, or the keeper would hold it for ever. To be called until it is true;
  /// does not wait.
  [[nodiscard]] bool drop_overdue();
  [[nodiscard]] Result<void> say(std::string_view verb);

  /// The next packet of the keeper, nullopt if none waits.
  [[nodiscard]] Result<std::optional<std::string>> try_next();

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  void forget(std::string_view key);

  os::PacketSocket socket_;
  std::map<std::string, std::size_t, std::less<>> held_;  // descriptors under each key
  std::size_t total_ = 0;
  std::set<std::string, std::less<>> overdue_;
};

}  // namespace beeline::control
