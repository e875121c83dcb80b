#include "src/control/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_paths.h"
#include "src/control/hive_start.h"
#include "src/control/names.h"
#include "src/control/typed_answer.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"

namespace beeline::control {
namespace {

// Packets read in one call. Others wait in the socket; their descriptors take no room of ours.
constexpr std::size_t kMostCollected = 8;
constexpr std::chrono::milliseconds kLongestWait{500};  // how long one look for one answer may take

template <typename... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overload(Ts...) -> Overload<Ts...>;

ErrorAnswer no_room_for_fds() {
  return {ErrorCode::kSystem,
          "this process can open no more files: close some, or raise its limit (ulimit -n)"};
}

}  // namespace

Result<Client> Client::connect(const ClientOptions& options) {
  const auto paths = find_hive(options.hive);
  if (!paths) return tl::unexpected(paths.error());
  Client client;
  client.options_ = options;
  client.options_.hive = paths->hive;
  client.starting_ = {options.start, options.deadline};
  client.socket_path_ = paths->socket;
  client.directory_ = paths->directory;
  if (auto connected = client.reconnect(); !connected) {
    return tl::unexpected(std::move(connected.error()));
  }
  return client;
}

Result<void> Client::reconnect() {
  const std::lock_guard lock(*mutex_);
  socket_.close();
  announcements_.clear();
  pending_.clear();
  const auto paths = find_hive(options_.hive);
  if (!paths) return tl::unexpected(paths.error());
  auto socket = connect_or_start(*paths, starting_, options_.deadline);
  if (!socket) return tl::unexpected(std::move(socket.error()));
  socket_path_ = paths->socket;
  socket_ = std::move(*socket);
  return {};
}

Result<bool> Client::try_reconnect(std::chrono::nanoseconds patience) {
  const std::lock_guard lock(*mutex_);
  if (!candidate_.valid()) {
    const auto paths = find_hive(options_.hive);
    if (!paths) return tl::unexpected(paths.error());
    auto socket = connect_or_start(*paths, starting_, std::chrono::nanoseconds::zero());
    if (!socket) return tl::unexpected(std::move(socket.error()));
    const std::string question = build(StatusRequest{}, next_seq_++);
    auto sent = socket->send(question, {}, patience);
    // A coordinator that refuses us says why and closes at once.
    if (!sent && sent.error().code != ErrorCode::kClosed) {
      return tl::unexpected(std::move(sent.error()));
    }
    candidate_ = std::move(*socket);
  }
  (void)os::wait_readable(candidate_.fd(), patience);
  auto packet = candidate_.try_receive(kMaxPacketBytes);
  if (!packet) {
    candidate_.close();
    return tl::unexpected(std::move(packet.error()));
  }
  if (!*packet) return false;
  socket_ = std::exchange(candidate_, os::PacketSocket());
  announcements_.clear();
  if (auto kept = sort(std::move(**packet), 0); !kept) {
    return tl::unexpected(std::move(kept.error()));
  }
  if (announcements_.empty()) return true;
  return broken({ErrorCode::kClosed, 0, "the coordinator has answered with an announcement"});
}

// Keeps announcements that arrived before the connection broke: the coordinator repeats none of
// them but links, when we register again.
void Client::keep_what_arrived() {
  while (socket_.valid()) {
    auto packet = socket_.try_receive(kMaxPacketBytes, os::LostFds::kTell);
    if (!packet && packet.error().code == ErrorCode::kProtocol) continue;  // the packet was taken
    if (!packet || !*packet) return;
    auto parsed = parse_from_coordinator((*packet)->text);
    auto* announced = parsed ? std::get_if<AnnouncedValue>(&*parsed) : nullptr;
    if (announced == nullptr) continue;
    (void)keep_announcement(std::move(*announced), (*packet)->fds, (*packet)->lost_fds);
  }
}

// Packets after our last look must fail, so that the coordinator does not count them as told.
void Client::hang_up() {
  socket_.refuse_more();
  keep_what_arrived();
  socket_.close();
  pending_.clear();
}

tl::unexpected<Error> Client::broken(Error error) {
  hang_up();
  return tl::unexpected(why_closed(std::move(error)));
}

Result<std::uint64_t> Client::post(const Request& request, std::span<const int> fds) {
  if (!socket_.valid()) return fail(ErrorCode::kClosed, "not connected to the coordinator");
  const std::uint64_t seq = next_seq_++;
  const std::string text = build(request, seq);
  if (text.size() > kMaxPacketBytes) {
    return fail(ErrorCode::kTooBig,
                fmt::format("request of {} bytes, the limit is {}", text.size(), kMaxPacketBytes));
  }
  if (auto sent = socket_.send(text, fds, options_.deadline); !sent) {
    return broken(std::move(sent.error()));
  }
  return seq;
}

Result<std::uint64_t> Client::post_now(const Request& request, std::span<const int> fds) {
  if (!socket_.valid()) return fail(ErrorCode::kClosed, "not connected to the coordinator");
  const std::uint64_t seq = next_seq_++;
  auto sent = socket_.try_send(build(request, seq), fds);
  if (!sent && sent.error().code != ErrorCode::kFull) return broken(std::move(sent.error()));
  if (sent && *sent) return seq;
  return fail(ErrorCode::kFull, "the coordinator has not read the last requests; try later");
}

Result<RawAnswer> Client::request(const Request& request, std::span<const int> fds) {
  const std::lock_guard lock(*mutex_);
  const std::int64_t begin_ns = os::monotonic_ns();
  const auto seq = post(request, fds);
  if (!seq) return tl::unexpected(seq.error());
  const std::chrono::nanoseconds taken(os::monotonic_ns() - begin_ns);
  return wait_for_answer(*seq, options_.deadline - taken);
}

// SUBTLE: each short wait counts for no longer than its intended length. While the whole machine
// stood still, the coordinator had no time to answer either.
Result<RawAnswer> Client::wait_for_answer(std::uint64_t seq, std::chrono::nanoseconds left) {
  for (;;) {
    auto packet = socket_.try_receive(kMaxPacketBytes, os::LostFds::kTell);
    if (!packet) return broken(std::move(packet.error()));
    if (!*packet) {
      if (left.count() <= 0) return broken(no_answer());
      const auto wait = std::min<std::chrono::nanoseconds>(left, kLongestWait);
      const std::int64_t begin_ns = os::monotonic_ns();
      (void)os::wait_readable(socket_.fd(), wait);
      left -= std::min(wait, std::chrono::nanoseconds(os::monotonic_ns() - begin_ns));
      continue;
    }
    auto answer = sort(std::move(**packet), seq);
    if (!answer) return tl::unexpected(std::move(answer.error()));
    if (!*answer) continue;
    if (auto* error = std::get_if<ErrorAnswer>(&(*answer)->answer)) {
      return fail(error->code, std::move(error->text));
    }
    return std::move(**answer);
  }
}

Error Client::no_answer() const {
  const bool read = socket_.unread_bytes() == 0;
  return {
      ErrorCode::kTimeout, 0,
      fmt::format(
          "the coordinator at {} did not answer within {} ms: {}; try again later", socket_path_,
          options_.deadline / std::chrono::milliseconds(1),
          read ? "it is busy with the question"
               : "it has not read the question: it is stopped, busy with others, or has no CPU")};
}

// The coordinator's own words, if it dropped us.
Error Client::why_closed(Error error) const {
  if (announcements_.empty()) return error;
  const auto* dropped = std::get_if<DroppedAnnouncement>(&announcements_.back());
  return dropped == nullptr ? error : Error{dropped->code, 0, dropped->text};
}

Result<std::optional<RawAnswer>> Client::sort(os::Packet packet, std::uint64_t seq) {
  auto parsed = parse_from_coordinator(packet.text);
  if (!parsed) return broken(std::move(parsed.error()));
  if (auto* answer = std::get_if<IncomingAnswer>(&*parsed)) {
    RawAnswer raw{std::move(answer->answer), std::move(packet.fds)};
    if (packet.lost_fds) raw = {no_room_for_fds(), {}};
    if (answer->seq == seq) return std::optional<RawAnswer>(std::move(raw));
    // Any other answer belongs to a call that no longer waits.
    (void)pending_.keep(answer->seq, std::move(raw));
    return std::optional<RawAnswer>();
  }
  auto kept =
      keep_announcement(std::move(std::get<AnnouncedValue>(*parsed)), packet.fds, packet.lost_fds);
  if (!kept) return broken(std::move(kept.error()));
  return std::optional<RawAnswer>();
}

bool Client::may_keep(std::span<const os::UniqueFd> fds) const {
  const int limit = takes_over_ ? std::numeric_limits<int>::max() : os::first_own_fd();
  return std::all_of(fds.begin(), fds.end(),
                     [limit](const os::UniqueFd& fd) { return fd.get() < limit; });
}

Result<void> Client::keep_announcement(AnnouncedValue value, std::span<os::UniqueFd> fds,
                                       bool lost_fds) {
  auto* link = std::get_if<LinkAnnouncement>(&value);
  if (link == nullptr) {
    std::visit(Overload{[](LinkAnnouncement&) {},
                        [this](auto& other) { announcements_.emplace_back(std::move(other)); }},
               value);
    return {};
  }
  const std::size_t expected =
      1U + (link->process ? 2U : 0U) + (link->foreign ? 1U : 0U) + (link->mine ? 1U : 0U);
  if (!lost_fds && fds.size() != expected) return missing_fds(expected, fds.size());
  AnnouncedLink announced;
  static_cast<LinkAnnouncement&>(announced) = std::move(*link);
  if (lost_fds || !may_keep(fds)) {
    announcements_.emplace_back(std::move(announced));
    return {};
  }
  std::size_t next = 0;
  announced.link = std::move(fds[next++]);
  if (announced.process) {
    announced.status = std::move(fds[next++]);
    announced.event = std::move(fds[next++]);
  }
  if (announced.foreign) announced.bell = std::move(fds[next++]);
  if (announced.mine) announced.mine_link = std::move(fds[next++]);
  announcements_.emplace_back(std::move(announced));
  return {};
}

bool Client::collect() {
  for (std::size_t i = 0; i < kMostCollected && socket_.valid(); ++i) {
    auto packet = socket_.try_receive(kMaxPacketBytes, os::LostFds::kTell);
    if (!packet) (void)broken(std::move(packet.error()));
    if (!packet || !*packet) return false;
    (void)sort(std::move(**packet), 0);
  }
  return socket_.valid();
}

std::optional<Announcement> Client::try_next() {
  const std::lock_guard lock(*mutex_);
  // Late answers, which no call waits for, may lie before the next announcement.
  while (announcements_.empty() && collect()) {
  }
  if (announcements_.empty()) return std::nullopt;
  std::optional<Announcement> next(std::move(announcements_.front()));
  announcements_.pop_front();
  return next;
}

std::optional<AnnouncedLink> Client::peek_link(Pid owner) {
  const std::unique_lock lock(*mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  (void)collect();
  for (auto each = announcements_.rbegin(); each != announcements_.rend(); ++each) {
    const auto* link = std::get_if<AnnouncedLink>(&*each);
    if (link == nullptr || link->pid != owner || !link->link.valid()) continue;
    AnnouncedLink copy;
    static_cast<LinkAnnouncement&>(copy) = *link;
    auto fd = os::duplicate(link->link.get());
    if (!fd) return std::nullopt;
    copy.link = std::move(*fd);
    if (!link->process) return copy;
    auto status = os::duplicate(link->status.get());
    auto event = os::duplicate(link->event.get());
    if (!status || !event) return std::nullopt;
    copy.status = std::move(*status);
    copy.event = std::move(*event);
    return copy;
  }
  return std::nullopt;
}

bool Client::closed() const {
  const std::lock_guard lock(*mutex_);
  return !socket_.valid();
}

void Client::close() {
  const std::lock_guard lock(*mutex_);
  hang_up();
  candidate_.close();
  std::erase_if(announcements_,
                [](const auto& each) { return std::holds_alternative<AnnouncedLink>(each); });
}

Result<void> Client::expect_ok(const Request& wanted, std::span<const int> fds) {
  auto raw = request(wanted, fds);
  if (!raw) return tl::unexpected(std::move(raw.error()));
  if (auto ok = typed<OkAnswer>(*raw); !ok) return tl::unexpected(std::move(ok.error()));
  return {};
}

}  // namespace beeline::control
