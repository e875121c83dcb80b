#include "src/control/lingering.h"

#include <algorithm>
#include <utility>

namespace beeline::control {
namespace {

constexpr std::size_t kNothingUnread = 64;  // bytes; less than any packet takes

}  // namespace

bool has_read_all(const os::PacketSocket& socket) noexcept {
  return socket.unread_bytes() < kNothingUnread;
}

void Lingering::add(std::uint64_t id, Connection connection, Shares& shares) {
  connection.socket.end();
  shares.take(connection.user, Resource::kConnections, 1);
  connections_.insert_or_assign(id, std::move(connection));
}

bool Lingering::settle(std::uint64_t id, Shares& shares) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !has_read_all(found->second.socket)) return false;
  shares.give_back(found->second.user, Resource::kConnections, 1);
  shares.give_back(found->second.user, Resource::kSentFds, found->second.sent_fds);
  connections_.erase(found);
  return true;
}

std::size_t Lingering::count_of(pid_t process) const {
  const auto count =
      std::count_if(connections_.begin(), connections_.end(),
                    [process](const auto& entry) { return entry.second.process == process; });
  return static_cast<std::size_t>(count);
}

}  // namespace beeline::control
