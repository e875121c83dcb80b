// The clients of the server: accepting and dropping them, reading their packets and sending to
// them.

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "src/control/admission.h"
#include "src/control/death.h"
#include "src/control/keeper_table.h"
#include "src/control/king.h"
#include "src/control/letters.h"
#include "src/control/operations.h"
#include "src/control/server.h"

namespace beeline::control {
namespace {

constexpr int kMaxLastPackets = 4096;

constexpr std::size_t kOwnFds = 32;          // of the coordinator, besides agents and clients
constexpr std::size_t kFdsOfConnection = 2;  // the socket, and the pidfd of the process that
                                             // connected
constexpr std::size_t kLeastReturning = 8;   // connections, each as much as a packet may bring
constexpr std::size_t kMostReturning = 128;

std::size_t less(std::size_t a, std::size_t b) { return a - std::min(a, b); }

}  // namespace

bool Server::accept_clients() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    auto socket = listener_.accept();
    if (socket && !*socket) return false;
    hive_->hearing.all_heard = false;
    if (!socket) {
      if (hive_->may_log_life(kNoPid, LogGate::kUnknownUser, "accept_failed")) {
        log_.warn("accept_failed", "text={}", in_quotes(socket.error().text));
      }
      const int reason = socket.error().sys_errno;
      return (reason == EMFILE || reason == ENFILE) && refuse_client();
    }
    add_client(std::move(**socket));
  }
  return true;
}

bool Server::refuse_client() {
  reserve_.reset();
  auto socket = listener_.accept();
  const bool accepted = socket && *socket;
  if (accepted) {
    const DroppedAnnouncement reason{
        ErrorCode::kFull,
        "the coordinator has no file descriptor left: raise its limit (ulimit -n)"};
    (void)(*socket)->try_send(build(AnnouncedValue(reason)));
    ++dropped_clients_;
    (*socket)->close();
  }
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return accepted;
}

// The stock of connections without an agent. An agent needs one descriptor here for its connection,
// besides its share in the keeper, which this process holds too. Connections without an agent get
// the rest; users other than the hive's get only the part that possible further agents would leave.
Stock Server::connection_stock() const {
  const std::size_t limit = descriptor_limit();
  const std::size_t idle = hive_->registry.shares().used(Resource::kConnections);
  const std::size_t agents = less(sessions_.size() + lingering_.size(), idle);
  const std::size_t left =
      less(limit, kOwnFds + hive_->keeper.held() + agents + idle * kFdsOfConnection);
  const std::size_t for_clients = less(less(limit, room_for_all()), agents) / kFdsOfConnection;
  Stock stock;
  stock.used = idle;
  stock.total = idle + left / kFdsOfConnection;
  stock.for_returning =
      std::clamp(limit / kFdsOfConnection / kPart, kLeastReturning, kMostReturning);
  const std::size_t for_others =
      std::min(less(for_clients, for_clients / kPart * 2), less(stock.total, stock.for_returning));
  stock.for_owner = less(less(stock.total, stock.for_returning), for_others);
  return stock;
}

Result<void> Server::make_room(uid_t user, pid_t process) {
  Shares& shares = hive_->registry.shares();
  const std::size_t held = shares.held(user, Resource::kConnections);
  const Stock stock = connection_stock();
  const std::size_t share = share_of(stock, held, claim_of(user));
  if (held < share) return {};
  const auto returns = [&](const auto& entry) {
    const Life* life = entry.second.living();
    return life != nullptr && life->session == 0 && life->os_pid == process;
  };
  const auto& agents = hive_->registry.agents();
  const auto returning =
      static_cast<std::size_t>(std::count_if(agents.begin(), agents.end(), returns));
  // A process that comes back has closed its lost connection, but a child of it may hold that open.
  if (returning != 0 && lingering_.count_of(process) <= returning &&
      held < share_of(stock, held, Claim::kReturning)) {
    return {};
  }
  Session* longest = nullptr;
  for (const auto& [id, session] : sessions_) {
    if (!session->is_counted || session->doomed) continue;
    if (session->caller.uid != shares.biggest(Resource::kConnections)) continue;
    if (longest == nullptr || session->heard_ns < longest->heard_ns) longest = session.get();
  }
  if (longest == nullptr || hive_->hearing.listened_ns - longest->heard_ns < kSilentNs) {
    return fail(ErrorCode::kFull,
                fmt::format("uid {} has {} connections to the coordinator without an agent, its "
                            "share is {} now: end some of the processes that hold them, or try "
                            "again later",
                            user, held, share));
  }
  // Its socket is closed at the end of the turn.
  doom(*longest, {ErrorCode::kFull, 0,
                  "this connection has no agent and was silent longest, and another one needs its "
                  "room: connect again"});
  return {};
}

std::int64_t Server::drop_silent(std::int64_t now_ns) {
  for (; !silent_.empty(); silent_.pop_front()) {
    const auto found = sessions_.find(silent_.front());
    if (found == sessions_.end() || found->second->has_asked) continue;
    // Its packets may still wait to be heard; a second kSilentNs is the limit of that wait.
    const std::int64_t due_ns =
        found->second->heard_ns + (hive_->hearing.all_heard ? kSilentNs : 2 * kSilentNs);
    // Wake after half of a turn's limit, so that the whole sleep counts.
    const std::int64_t left_ns = due_ns - hive_->hearing.listened_ns;
    if (left_ns > 0) return now_ns + std::min(left_ns, kMostPerTurnNs / 2);
    doom(*found->second, {ErrorCode::kTimeout, 0,
                          fmt::format("no request came over this connection in its first {} s: "
                                      "connect again when there is one",
                                      kSilentNs / 1'000'000'000)});
  }
  return 0;
}

void Server::recount(Session& session) {
  const bool counts = session.caller.pid == kNoPid;
  if (std::exchange(session.is_counted, counts) == counts) return;
  Shares& shares = hive_->registry.shares();
  if (counts) {
    shares.take(session.caller.uid, Resource::kConnections, 1);
  } else {
    shares.give_back(session.caller.uid, Resource::kConnections, 1);
  }
}

void Server::add_client(os::PacketSocket socket) {
  auto identity = socket.peer_identity();
  if (!identity) {
    if (hive_->may_log_life(kNoPid, LogGate::kUnknownUser, "client_gone")) {
      log_.info("client_gone", "text={}", in_quotes(identity.error().text));
    }
    return;
  }
  if (auto room = make_room(identity->uid, identity->pid); !room) {
    (void)socket.try_send(
        build(AnnouncedValue(DroppedAnnouncement{room.error().code, room.error().text})));
    ++dropped_clients_;
    if (hive_->may_log_life(kNoPid, identity->uid, "client_refused")) {
      log_.warn("client_refused", "process={} uid={} text={}", identity->pid, identity->uid,
                in_quotes(room.error().text));
    }
    return;
  }
  auto session = std::make_unique<Session>();
  const std::uint64_t id = next_session_++;
  session->caller.session = id;
  session->caller.uid = identity->uid;
  session->caller.os_pid = identity->pid;
  if (options_.peer_pidfd && identity->pidfd.valid()) {
    session->caller.pidfd = share(std::move(identity->pidfd));
  }
  session->socket = std::move(socket);
  session->heard_ns = hive_->hearing.listened_ns;
  // Edge-triggered: epoll reports a client that waits for its turn only once.
  if (auto added = add(session->socket.fd(), Source::kSession, id, EPOLLIN | EPOLLET); !added) {
    log_.warn("client_failed", "text={}", in_quotes(added.error().text));
    return;
  }
  recount(*session);
  sessions_.emplace(id, std::move(session));
  silent_.push_back(id);
}

bool Server::read_client(Session& session) {
  if (session.doomed) return false;
  auto packet = session.socket.try_receive(kMaxPacketBytes, os::LostFds::kTell);
  if (!packet) {
    doom(session, std::move(packet.error()));
    return false;
  }
  if (!*packet) return false;
  auto done = handle_packet(*hive_, session.caller, std::move(**packet));
  session.heard_ns = hive_->hearing.listened_ns;
  session.has_asked |= done.has_value();
  recount(session);
  if (!done) {
    doom(session, std::move(done.error()));
    return false;
  }
  if (!std::exchange(served_, true)) keeper_.say(kServedVerb);
  return true;
}

void Server::drain(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  // Its process has ended, so its packets are in the socket buffer. A child of it that also holds
  // the socket could send without end.
  for (int i = 0; i < kMaxLastPackets; ++i) {
    if (!read_client(*found->second)) return;
  }
  take_turn(*found->second);  // no further event reports the rest
}

void Server::doom(Session& session, Error reason) {
  if (session.doomed) return;
  session.doomed = std::move(reason);
  // None of its packets is sent any more, so they do not count when the rest of its user's queues
  // is judged.
  hive_->registry.shares().give_back(session.caller.uid, Resource::kQueuedBytes,
                                     std::exchange(session.queued_bytes, 0));
  doomed_.push_back(session.caller.session);
}

void Server::close_doomed() {
  // A drop can announce something to other clients, and so doom them.
  while (!doomed_.empty()) {
    const std::uint64_t id = doomed_.back();
    doomed_.pop_back();
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) continue;
    const std::unique_ptr<Session> session = std::move(found->second);
    sessions_.erase(found);
    const Error& reason = *session->doomed;
    if (reason.code != ErrorCode::kClosed) {
      ++dropped_clients_;
      if (hive_->may_log(session->caller, "client_dropped", LogGate::kLives)) {
        log_.warn("client_dropped", "process={} uid={} agent={} code={} text={}",
                  session->caller.os_pid, session->caller.uid, session->caller.pid,
                  to_string(reason.code), in_quotes(reason.text));
      }
      // Settle the descriptors that it has received before the last packet makes its socket unread.
      if (session->sent_fds != 0 && has_read_all(session->socket)) settle_fds(*session);
      const DroppedAnnouncement last{reason.code, reason.text};
      (void)session->socket.try_send(build(AnnouncedValue(last)));
    }
    for (const Outgoing& lost : session->queue) count_taken(lost.place);
    Shares& shares = hive_->registry.shares();
    if (session->is_counted) shares.give_back(session->caller.uid, Resource::kConnections, 1);
    close(*session);
    forget_session(*hive_, id);
    forget_watcher(*hive_, id);
    if (session->caller.pid != kNoPid) {
      lose_connection(*hive_, session->caller.pid, session->caller.incarnation, id);
    }
  }
}

void Server::close(Session& session) {
  const int fd = session.socket.fd();
  if (session.sent_fds == 0 || has_read_all(session.socket)) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    session.socket.close();
    settle_fds(session);
    return;
  }
  const std::uint64_t id = session.caller.session;
  lingering_.add(id,
                 {.socket = std::move(session.socket),
                  .user = session.caller.uid,
                  .process = session.caller.os_pid,
                  .sent_fds = session.sent_fds},
                 hive_->registry.shares());
  // Edge-triggered: one event now, one with each packet that the peer reads, and one when it closes
  // its end. A peer that has closed may come here too, because it ends the connection before it
  // drops unread packets.
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLET;
  event.data.u64 = tag_of(Source::kLingering, id);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Server::release(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  found->second->caller.pid = kNoPid;
  found->second->caller.incarnation = shm::kNoIncarnation;
  recount(*found->second);
}

}  // namespace beeline::control
