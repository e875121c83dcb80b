#include "src/control/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "src/control/death.h"
#include "src/control/keeper_table.h"
#include "src/control/letters.h"
#include "src/control/links.h"
#include "src/control/operations.h"
#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::control {
namespace {

constexpr int kEventsPerTurn = 64;
constexpr int kAcceptsPerTurn = 16;
constexpr std::int64_t kLastWordsNs = 1'000'000'000;
constexpr std::int64_t kHangNs = 3'000'000'000;  // as the keeper waits for us
constexpr int kCrowdedRetryMs = 10;
constexpr int kMaxLastPackets = 4096;
constexpr std::uint64_t kIdBits = 56;  // as many as an incarnation has
constexpr std::uint64_t kIdMask = (1ULL << kIdBits) - 1;

// Of two times, of which 0 is none.
std::int64_t earlier(std::int64_t a_ns, std::int64_t b_ns) {
  if (a_ns == 0 || b_ns == 0) return std::max(a_ns, b_ns);
  return std::min(a_ns, b_ns);
}

}  // namespace

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(os::PacketSocket& listener, KeeperClient& keeper,
                                               Log& log, const Options& options) {
  std::unique_ptr<Server> server(new Server(listener, keeper, log, options));
  if (auto prepared = server->prepare(); !prepared) {
    return tl::unexpected(std::move(prepared.error()));
  }
  return server;
}

Result<void> Server::prepare() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return os::system_failure("cannot make an epoll");
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::sigaddset(&ending, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ending, nullptr);
  signals_.reset(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return os::system_failure("cannot make a signalfd");
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!reserve_.valid()) return os::system_failure("cannot open /dev/null");
  if (auto added = add(listener_.fd(), Source::kListener, 0, EPOLLIN); !added) return added;
  if (auto added = add(signals_.get(), Source::kSignal, 0, EPOLLIN); !added) return added;
  return add(keeper_.fd(), Source::kKeeper, 0, EPOLLIN);
}

Result<void> Server::add(int fd, Source source, std::uint64_t id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(source) << kIdBits | id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return os::system_failure(fmt::format("cannot watch descriptor {}", fd));
}

// ---- The loop -----------------------------------------------------------------------------------

int Server::run(Hive& hive) {
  hive_ = &hive;
  turned_ns_ = os::monotonic_ns();
  std::int64_t next_ns = 0;
  bool busy = false;
  for (;;) {
    turn(timeout_ms(next_ns, busy));
    close_doomed();
    next_ns =
        earlier(end_overdue(hive, os::monotonic_ns()), hive.gate.settle(log_, os::monotonic_ns()));
    busy = takeover_.step(hive);
    catch_up();
    busy = busy || !doomed_.empty();
    if (keeper_lost_) return quit_said_ ? 0 : 1;
    if (hive.going_down) go_down();
  }
}

void Server::count_listening() {
  const std::int64_t now_ns = os::monotonic_ns();
  hive_->listened_ns += std::min(now_ns - std::exchange(turned_ns_, now_ns), kMostPerTurnNs);
}

void Server::catch_up() {
  const auto settled = keeper_.settle();
  is_behind_ = !settled;
  tell_fades(*hive_);
  if (settled && !quit_said_) {
    hangs_since_ns_ = 0;
    return;
  }
  const std::int64_t now_ns = os::monotonic_ns();
  if (hangs_since_ns_ == 0) {
    hangs_since_ns_ = now_ns;
    hang_said_ = false;
  }
  if (now_ns - hangs_since_ns_ < kHangNs || std::exchange(hang_said_, true)) return;
  log_.warn("keeper_hangs", "process={} text={}", hive_->facts.keeper_pid,
            in_quotes(settled ? "it was told to end and does not: if it is stopped, continue it"
                              : settled.error().text));
}

int Server::timeout_ms(std::int64_t next_ns, bool busy) const {
  if (busy) return 0;
  if (crowded_ || is_behind_ || hive_->going_down) return kCrowdedRetryMs;
  if (next_ns == 0) return -1;
  const std::int64_t left_ns = next_ns - os::monotonic_ns();
  return left_ns <= 0 ? 0 : static_cast<int>(left_ns / 1'000'000 + 1);
}

void Server::turn(int timeout_ms) {
  std::array<epoll_event, kEventsPerTurn> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, timeout_ms);
  // What the handlers take is not listened: it counts in the next turn. Whoever is accepted in this
  // one is read in the next one, too.
  count_listening();
  hive_->all_heard = count >= 0 && count < kEventsPerTurn;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    handle(event.data.u64, event.events);
  }
  if (crowded_) {
    crowded_ = false;
    for (auto& [id, session] : sessions_) flush(*session);
  }
}

void Server::handle(std::uint64_t tag, std::uint32_t events) {
  const std::uint64_t id = tag & kIdMask;
  switch (static_cast<Source>(tag >> kIdBits)) {
    case Source::kListener:
      return accept_clients();
    case Source::kKeeper:
      return read_keeper();
    case Source::kLife:
      return end_of_life(id);
    case Source::kSignal: {
      signalfd_siginfo info{};
      if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
      hive_->going_down = true;
      hive_->down_reason = fmt::format("signal {}", info.ssi_signo);
      return;
    }
    case Source::kSession: {
      const auto found = sessions_.find(id);
      if (found == sessions_.end() || found->second->doomed) return;
      if ((events & EPOLLOUT) != 0) go_on(*found->second);
      if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
        (void)read_client(*found->second);
      }
      return;
    }
  }
}

// ---- Clients ------------------------------------------------------------------------------------

void Server::accept_clients() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    auto socket = listener_.accept();
    if (socket && !*socket) return;
    hive_->all_heard = false;
    if (!socket) {
      if (hive_->may_log_life(kNoPid, LogGate::kUnknownUser, "accept_failed")) {
        log_.warn("accept_failed", "text={}", in_quotes(socket.error().text));
      }
      const int reason = socket.error().sys_errno;
      if (reason == EMFILE || reason == ENFILE) refuse_client();
      return;
    }
    add_client(std::move(**socket));
  }
}

void Server::refuse_client() {
  reserve_.reset();
  if (auto socket = listener_.accept(); socket && *socket) {
    const DroppedAnnouncement reason{
        ErrorCode::kFull,
        "the coordinator has no file descriptor left: raise its limit (ulimit -n)"};
    (void)(*socket)->try_send(build(AnnouncedValue(reason)));
    ++dropped_clients_;
  }
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Server::add_client(os::PacketSocket socket) {
  auto identity = socket.peer_identity();
  if (!identity) {
    if (hive_->may_log_life(kNoPid, LogGate::kUnknownUser, "client_gone")) {
      log_.info("client_gone", "text={}", in_quotes(identity.error().text));
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
  if (auto added = add(session->socket.fd(), Source::kSession, id, EPOLLIN); !added) {
    log_.warn("client_failed", "text={}", in_quotes(added.error().text));
    return;
  }
  sessions_.emplace(id, std::move(session));
}

bool Server::read_client(Session& session) {
  if (session.doomed) return false;
  auto packet = session.socket.try_receive(kMaxPacketBytes);
  if (!packet) {
    doom(session, std::move(packet.error()));
    return false;
  }
  if (!*packet) return false;
  auto done = handle_packet(*hive_, session.caller, (*packet)->text, std::move((*packet)->fds));
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
  // Its process has ended, so what it sent is in the socket buffer. A child of it that holds the
  // socket too could go on for ever.
  for (int i = 0; i < kMaxLastPackets && read_client(*found->second); ++i) {
  }
}

void Server::send(std::uint64_t session_id, std::string text, std::vector<SharedFd> fds) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second->doomed) return;
  Session& session = *found->second;
  const std::uint32_t place = place_of(session);
  count_due(place);
  session.queued_bytes += text.size();
  session.queue.push_back({std::move(text), std::move(fds), place});
  flush(session);
  if (session.queue.size() > kMaxQueuedPackets || session.queued_bytes > kMaxQueuedBytes) {
    doom(session, {ErrorCode::kFull, 0,
                   fmt::format("{} packets, {} bytes wait for the client, the limits are {} and {}",
                               session.queue.size(), session.queued_bytes, kMaxQueuedPackets,
                               kMaxQueuedBytes)});
  }
}

std::uint32_t Server::place_of(const Session& session) const {
  const Agent* agent = hive_->registry.agent(session.caller.pid);
  return agent != nullptr && agent->placed ? agent->index : kNoPlace;
}

void Server::count_due(std::uint32_t place) {
  if (place != kNoPlace) hive_->directory.count_due(place);
}

void Server::count_taken(std::uint32_t place) {
  if (place != kNoPlace) hive_->directory.count_taken(place);
}

void Server::flush(Session& session) {
  while (!session.queue.empty() && !session.doomed) {
    const Outgoing& next = session.queue.front();
    std::vector<int> fds;
    for (const SharedFd& fd : next.fds) fds.push_back(fd->get());
    auto sent = session.socket.try_send(next.text, fds);
    if (!sent && sent.error().code == ErrorCode::kFull) {
      crowded_ = true;
      return;
    }
    if (!sent) return doom(session, std::move(sent.error()));
    if (!*sent) return want_write(session, true);
    session.queued_bytes -= next.text.size();
    count_taken(next.place);
    session.queue.pop_front();
  }
  want_write(session, session.owes_deaths);
}

bool Server::send_now(std::uint64_t session_id, const std::string& text) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second->doomed) return false;
  Session& session = *found->second;
  if (session.queue.empty()) {
    const std::uint32_t place = place_of(session);
    count_due(place);
    auto sent = session.socket.try_send(text);
    count_taken(place);  // or not sent at all: it is made anew
    if (!sent) {
      doom(session, std::move(sent.error()));
      return false;
    }
    if (*sent) return true;
    want_write(session, true);
  }
  session.owes_deaths = true;
  return false;
}

void Server::go_on(Session& session) {
  flush(session);
  if (!session.queue.empty() || session.doomed || !session.owes_deaths) return;
  session.owes_deaths = false;
  want_write(session, false);
  if (Agent* agent = hive_->registry.agent(session.caller.pid)) tell_deaths(*hive_, *agent);
}

void Server::want_write(Session& session, bool wanted) {
  if (session.wants_write == wanted) return;
  session.wants_write = wanted;
  epoll_event event{};
  event.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(Source::kSession) << kIdBits | session.caller.session;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, session.socket.fd(), &event);
}

void Server::doom(Session& session, Error reason) {
  if (session.doomed) return;
  session.doomed = std::move(reason);
  doomed_.push_back(session.caller.session);
}

void Server::close_doomed() {
  // A drop can tell others, and so doom others.
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
      const DroppedAnnouncement last{reason.code, reason.text};
      (void)session->socket.try_send(build(AnnouncedValue(last)));
    }
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, session->socket.fd(), nullptr);
    session->socket.close();
    for (const Outgoing& lost : session->queue) count_taken(lost.place);
    forget_session(*hive_, id);
    if (session->caller.pid != kNoPid) {
      lose_connection(*hive_, session->caller.pid, session->caller.incarnation, id);
    }
  }
}

void Server::release(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  found->second->caller.pid = kNoPid;
  found->second->caller.incarnation = 0;
}

// ---- Lives --------------------------------------------------------------------------------------

void Server::watch(const Life& life, Pid pid) {
  watched_[life.incarnation] = pid;
  if (auto added = add(life.pidfd->get(), Source::kLife, life.incarnation, EPOLLIN); !added) {
    log_.warn("watch_failed", "agent={} text={}", pid, in_quotes(added.error().text));
  }
}

void Server::unwatch(const Life& life) {
  // The keeper holds the same open file, so closing ours would not end the watch.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, life.pidfd->get(), nullptr);
  watched_.erase(life.incarnation);
}

void Server::end_of_life(std::uint64_t incarnation) {
  const auto found = watched_.find(incarnation);
  if (found == watched_.end()) return;
  bury(*hive_, found->second, incarnation);
}

// ---- The end ------------------------------------------------------------------------------------

void Server::read_keeper() {
  for (;;) {
    auto packet = keeper_.try_next();
    if (!packet) {
      // What it has said stays in the socket, and the socket readable.
      keeper_lost_ = packet.error().code == ErrorCode::kClosed;
      return;
    }
    if (!*packet) return;
    if ((*packet)->text == kDownVerb) {
      hive_->going_down = true;
      hive_->down_reason = "the keeper was told to end";
    } else if ((*packet)->text == kFilesVerb) {
      follow_files(std::move((*packet)->fds));
    }
  }
}

void Server::follow_files(std::vector<os::UniqueFd> fds) {
  (void)log_.follow();
  (void)hive_->state.renew();
  hive_->state.report(log_);
  if (fds.size() != 1 || hive_->going_down) return;
  auto listener = os::PacketSocket::from_fd(std::move(fds[0]));
  if (!listener) {
    log_.warn("listener_refused", "text={}", in_quotes(listener.error().text));
    return;
  }
  accept_clients();  // those who have connected to the old one
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
  listener_ = std::move(*listener);
  if (auto added = add(listener_.fd(), Source::kListener, 0, EPOLLIN); !added) {
    log_.warn("listener_refused", "text={}", in_quotes(added.error().text));
  }
}

bool Server::all_flushed() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second->queue.empty(); });
}

void Server::go_down() {
  if (quit_at_ns_ == 0) {
    quit_at_ns_ = os::monotonic_ns() + kLastWordsNs;
    hive_->gate.settle_all(log_);
    log_.info("going_down", "reason={}", in_quotes(hive_->down_reason));
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
    for (auto& [pid, agent] : hive_->registry.agents()) {
      const ShutdownAnnouncement shutdown{hive_->down_reason};
      if (agent.current) hive_->announce(*agent.current, shutdown);
      if (agent.successor) hive_->announce(*agent.successor, shutdown);
    }
  }
  if (quit_said_ || (!all_flushed() && os::monotonic_ns() < quit_at_ns_)) return;
  keeper_.say(kQuitVerb);
  quit_said_ = true;
}

}  // namespace beeline::control
