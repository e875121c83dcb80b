#include "src/control/keeper_client.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shm/directory.h"
#include "src/control/wire.h"

namespace beeline::control {
namespace {

/// What the keeper may have, which is as much as we may.
std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(limit.rlim_cur);
}

// Of all descriptors a third is for clients at most, and of the rest a quarter for the lives of
// those who come to read the links: one for each agent that there may be, and four, are enough.
std::size_t room_for_all() {
  const std::size_t limit = descriptor_limit();
  return limit - std::min<std::size_t>(limit - limit / 3 * 2, shm::kMaxAgents);
}
std::size_t room_for_links() {
  const std::size_t all = room_for_all();
  return all - std::min<std::size_t>(all / 4, std::size_t{4} * shm::kMaxAgents);
}

tl::unexpected<Error> no_room(std::size_t total, std::size_t limit) {
  return fail(ErrorCode::kFull,
              fmt::format("the hive keeps {} file descriptors of agents and links, the limit here "
                          "is {} (of {} open files of a process): end agents, let those who are "
                          "away read their links, or raise the hard limit of open files (ulimit "
                          "-Hn, LimitNOFILE= of a service) and start the hive again",
                          total, limit, descriptor_limit()));
}

}  // namespace

void KeeperClient::know(const KeptTable& table) {
  for (const auto& [key, record] : table) {
    held_[key] = record.fds.size();
    total_ += record.fds.size();
  }
}

Result<void> KeeperClient::keep(std::string_view key, std::string_view value,
                                std::span<const int> fds) {
  const auto known = held_.find(key);
  const std::size_t before = known == held_.end() ? 0 : known->second;
  const std::size_t total = total_ - before + fds.size();
  const std::size_t limit = room_for_all();
  if (fds.size() > before && total > limit) return no_room(total_, limit);
  const std::string packet = fmt::format("{}{}\n{}", kKeepVerb, key, value);
  auto sent = socket_.send(packet, fds);
  if (!sent) {
    if (before != 0 && fds.empty()) overdue_.insert_or_assign(std::string(key), packet);
    return sent;
  }
  held_.insert_or_assign(std::string(key), fds.size());
  total_ = total;
  forgive(key);
  return {};
}

Result<void> KeeperClient::check_room_for_link() const {
  const std::size_t limit = room_for_links();
  return total_ < limit ? Result<void>() : no_room(total_, limit);
}

Result<void> KeeperClient::drop(std::string_view key) {
  const std::string packet = fmt::format("{}{}", kDropVerb, key);
  auto sent = socket_.send(packet);
  if (sent) {
    forget(key);
    forgive(key);
  } else {
    overdue_.insert_or_assign(std::string(key), packet);
  }
  return sent;
}

bool KeeperClient::settle() {
  for (auto each = overdue_.begin(); each != overdue_.end(); each = overdue_.erase(each)) {
    const auto sent = socket_.try_send(each->second);
    if (!sent || !*sent) return false;
    forget(each->first);
  }
  return true;
}

void KeeperClient::forgive(std::string_view key) {
  if (const auto old = overdue_.find(key); old != overdue_.end()) overdue_.erase(old);
}

void KeeperClient::forget(std::string_view key) {
  const auto known = held_.find(key);
  if (known == held_.end()) return;
  total_ -= known->second;
  held_.erase(known);
}

Result<void> KeeperClient::say(std::string_view verb) { return socket_.send(verb); }

Result<std::optional<std::string>> KeeperClient::try_next() {
  auto packet = socket_.try_receive(kMaxPacketBytes);
  if (!packet) return tl::unexpected(std::move(packet.error()));
  if (!*packet) return std::optional<std::string>();
  return std::optional<std::string>(std::move((*packet)->text));
}

}  // namespace beeline::control
