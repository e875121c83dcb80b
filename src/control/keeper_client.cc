#include "src/control/keeper_client.h"

#include <utility>

#include <fmt/format.h>

#include "src/control/keeper_table.h"
#include "src/control/wire.h"

namespace beeline::control {

Result<void> KeeperClient::keep(std::string_view key, std::string_view value,
                                std::span<const int> fds) {
  return socket_.send(fmt::format("{}{}\n{}", kKeepVerb, key, value), fds);
}

Result<void> KeeperClient::drop(std::string_view key) {
  return socket_.send(fmt::format("{}{}", kDropVerb, key));
}

Result<void> KeeperClient::say(std::string_view verb) { return socket_.send(verb); }

Result<std::optional<std::string>> KeeperClient::try_next() {
  auto packet = socket_.try_receive(kMaxPacketBytes);
  if (!packet) return tl::unexpected(std::move(packet.error()));
  if (!*packet) return std::optional<std::string>();
  return std::optional<std::string>(std::move((*packet)->text));
}

}  // namespace beeline::control
