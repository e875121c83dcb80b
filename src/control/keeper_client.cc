#include "src/control/keeper_client.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shm/directory.h"
#include "src/control/wire.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"

namespace beeline::control {
namespace {

tl::unexpected<Error> no_room(std::size_t total, std::size_t limit) {
  return fail(ErrorCode::kFull,
              fmt::format("the hive keeps {} file descriptors of agents and links, the limit here "
                          "is {} (of {} open files of a process): forget agents that are away for "
                          "good (`beeline tree` shows them, `beeline forget NAME`), end others, or "
                          "raise the hard limit of open files (ulimit -Hn, LimitNOFILE= of a "
                          "service) and start the hive again",
                          total, limit, descriptor_limit()));
}

tl::unexpected<Error> nothing_taken() {
  return fail(ErrorCode::kTimeout,
              "the keeper of the hive reads nothing: it is stopped or overloaded");
}

std::string packet_of(std::string_view verb, std::string_view key, std::string_view value) {
  return fmt::format("{}{}\n{}", verb, key, value);
}

}  // namespace

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t room_for_all() {
  const std::size_t limit = descriptor_limit();
  return limit - std::min<std::size_t>(limit - limit / 3 * 2, shm::kMaxAgents);
}

std::size_t room_for_links() {
  const std::size_t all = room_for_all();
  return all - std::min<std::size_t>(all / 4, std::size_t{4} * shm::kMaxAgents);
}

void KeeperClient::know(const KeptTable& table) {
  for (const auto& [key, record] : table) hold(key, record.fds.size());
}

Result<void> KeeperClient::keep(std::string_view key, std::string_view value,
                                std::span<const int> fds) {
  const auto known = held_.find(key);
  const std::size_t before = known == held_.end() ? 0 : known->second;
  if (fds.size() > before && total_ - before + fds.size() > room_for_all()) {
    return no_room(total_, room_for_all());
  }
  auto sent = say_now(packet_of(kKeepVerb, key, value), fds);
  if (sent) hold(key, fds.size());
  return sent;
}

Result<void> KeeperClient::note_now(std::string_view key, std::string_view value) {
  return say_now(packet_of(kNoteVerb, key, value), {});
}

Result<void> KeeperClient::settle_patiently() {
  constexpr std::int64_t kMost = 1'000'000'000;  // returning agents must not be late because of
                                                 // this wait
  return settle_until(std::min(end_of_patience(), os::monotonic_ns() + kMost));
}

std::int64_t KeeperClient::end_of_patience() const {
  return takes_nothing_ ? 0 : os::monotonic_ns() + os::kDefaultSendTimeout.count();
}

void KeeperClient::note(std::string_view key, std::string_view value) {
  say_sometime({packet_of(kNoteVerb, key, value), {}});
}

void KeeperClient::strip(std::string_view key, std::string_view value) {
  say_sometime({packet_of(kKeepVerb, key, value), std::string(key)});
}

void KeeperClient::drop(std::string_view key) {
  say_sometime({fmt::format("{}{}", kDropVerb, key), std::string(key)});
}

void KeeperClient::say(std::string_view verb) { say_sometime({std::string(verb), {}}); }

Result<void> KeeperClient::say_now(std::string_view packet, std::span<const int> fds) {
  const std::int64_t until_ns = end_of_patience();
  if (auto settled = settle_until(until_ns); !settled) return settled;
  return send(packet, fds, until_ns);
}

void KeeperClient::say_sometime(Overdue overdue) {
  overdue_.push_back(std::move(overdue));
  (void)settle();
}

Result<void> KeeperClient::settle_until(std::int64_t until_ns) {
  for (; !overdue_.empty(); overdue_.pop_front()) {
    const Overdue& next = overdue_.front();
    if (auto sent = send(next.packet, {}, until_ns); !sent) return sent;
    if (!next.emptied.empty()) hold(next.emptied, 0);
  }
  if (takes_nothing_ && !os::wait_writable(socket_.fd(), {})) return nothing_taken();
  takes_nothing_ = false;
  return {};
}

Result<void> KeeperClient::send(std::string_view packet, std::span<const int> fds,
                                std::int64_t until_ns) {
  const std::chrono::nanoseconds left(until_ns - os::monotonic_ns());
  auto sent = socket_.send(packet, fds, std::max(left, std::chrono::nanoseconds::zero()));
  if (sent) takes_nothing_ = false;
  if (sent || sent.error().code != ErrorCode::kTimeout) return sent;
  takes_nothing_ |= until_ns != 0;
  return nothing_taken();
}

void KeeperClient::hold(std::string_view key, std::size_t count) {
  if (const auto known = held_.find(key); known != held_.end()) {
    total_ -= known->second;
    held_.erase(known);
  }
  total_ += count;
  if (count != 0) held_.emplace(key, count);
}

Result<std::optional<os::Packet>> KeeperClient::try_next() {
  return socket_.try_receive(kMaxPacketBytes, os::LostFds::kTell);
}

}  // namespace beeline::control
