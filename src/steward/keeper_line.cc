#include "src/steward/keeper_line.h"

#include <array>
#include <charconv>
#include <chrono>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/os/process.h"
#include "src/service/log.h"

namespace beeline::steward {

namespace {

constexpr std::size_t kMostWordBytes = 256;
constexpr auto kSendPatience = std::chrono::seconds(2);

}  // namespace

Result<KeeperLine> KeeperLine::from_environment() {
  const std::string_view number = os::variable("BEELINE_KEEPER_FD");
  int fd = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fd);
  if (error != std::errc() || end != number.data() + number.size() || fd < 0) {
    return fail(ErrorCode::kInvalid,
                "beeline-steward has no connection to a keeper ($BEELINE_KEEPER_FD names none): "
                "beelined starts it when a hive needs it, people do not");
  }
  auto socket = os::PacketSocket::from_fd(os::UniqueFd(fd));
  if (!socket) return tl::unexpected(std::move(socket.error()));
  return KeeperLine(std::move(*socket));
}

Result<void> KeeperLine::hold(pid_t os_pid, int pidfd) {
  const std::array<int, 1> fds{pidfd};
  return socket_.send(fmt::format("child {}", os_pid), fds, kSendPatience);
}

void KeeperLine::forget(pid_t os_pid) {
  const auto sent = socket_.send(fmt::format("gone {}", os_pid), {}, kSendPatience);
  if (!sent) service::log_warn("keeper_not_told", sent.error().text);
}

void KeeperLine::say_ready() {
  const auto sent = socket_.send("ready", {}, kSendPatience);
  if (!sent) service::log_warn("keeper_not_told", sent.error().text);
}

Result<std::optional<KeeperLine::Word>> KeeperLine::next() {
  auto packet = socket_.try_receive(kMostWordBytes);
  if (!packet) return tl::unexpected(std::move(packet.error()));
  if (!*packet) return std::optional<Word>();
  std::istringstream text((*packet)->text);
  std::string kind;
  Word word;
  text >> kind;
  if (kind == "known") return std::optional(std::move(word));
  text >> word.os_pid;
  if (kind == "child" && text && (*packet)->fds.size() == 1) {
    word.kind = Word::Kind::kChild;
    word.pidfd = std::move((*packet)->fds.front());
    return std::optional(std::move(word));
  }
  text >> word.status;
  if (kind == "exited" && text) {
    word.kind = Word::Kind::kExited;
    return std::optional(std::move(word));
  }
  return fail(ErrorCode::kProtocol, fmt::format("the keeper said \"{}\", which this steward does "
                                                "not know: both must have one version",
                                                (*packet)->text.substr(0, kMostWordBytes)));
}

}  // namespace beeline::steward
