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
#include "src/control/forget.h"
#include "src/control/keeper_table.h"
#include "src/control/king.h"
#include "src/control/links.h"
#include "src/os/clock.h"
#include "src/os/error.h"

namespace beeline::control {
namespace {

constexpr int kEventsPerTurn = 1024;
constexpr int kPacketsPerTurn = 64;
constexpr std::int64_t kLastWordsNs = 1'000'000'000;
constexpr std::int64_t kHangNs = 3'000'000'000;  // as long as the keeper waits for us
constexpr int kCrowdedRetryMs = 10;

// The earlier of two times; 0 means none.
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
  event.data.u64 = tag_of(source, id);
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
    const std::int64_t now_ns = os::monotonic_ns();
    next_ns = earlier(end_overdue(hive, now_ns), hive.gate.settle(log_, now_ns));
    next_ns = earlier(next_ns, drop_silent(now_ns));
    next_ns = earlier(next_ns, plan_looks(hive, now_ns));
    next_ns = earlier(next_ns, end_waiting(hive, now_ns));
    busy = takeover_.step(hive);
    catch_up();
    busy = busy || !doomed_.empty() || !turns_.empty() || fds_settled_;
    if (keeper_state_.is_lost) return quit_.is_said ? 0 : 1;
    if (hive.down.has_begun) go_down();
  }
}

void Server::count_listening() {
  const std::int64_t now_ns = os::monotonic_ns();
  hive_->hearing.listened_ns +=
      std::min(now_ns - std::exchange(turned_ns_, now_ns), kMostPerTurnNs);
}

void Server::catch_up() {
  const auto settled = keeper_.settle();
  keeper_state_.is_behind = !settled;
  tell_fades(*hive_);
  if (settled && !quit_.is_said) {
    keeper_state_.hangs_since_ns = 0;
    return;
  }
  const std::int64_t now_ns = os::monotonic_ns();
  if (keeper_state_.hangs_since_ns == 0) {
    keeper_state_.hangs_since_ns = now_ns;
    keeper_state_.hang_is_said = false;
  }
  if (now_ns - keeper_state_.hangs_since_ns < kHangNs ||
      std::exchange(keeper_state_.hang_is_said, true))
    return;
  log_.warn("keeper_hangs", "process={} text={}", hive_->facts.keeper_pid,
            in_quotes(settled ? "it was told to end and does not: if it is stopped, continue it"
                              : settled.error().text));
}

int Server::timeout_ms(std::int64_t next_ns, bool busy) const {
  if (busy) return 0;
  if (crowded_ || keeper_state_.is_behind || hive_->down.has_begun) return kCrowdedRetryMs;
  if (next_ns == 0) return -1;
  const std::int64_t left_ns = next_ns - os::monotonic_ns();
  return left_ns <= 0 ? 0 : static_cast<int>(left_ns / 1'000'000 + 1);
}

void Server::turn(int timeout_ms) {
  std::array<epoll_event, kEventsPerTurn> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, timeout_ms);
  // Time in the handlers is not spent listening: it counts in the next turn. A client accepted in
  // this turn is also read in the next one.
  count_listening();
  hive_->hearing.all_heard = count >= 0 && count < kEventsPerTurn;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    handle(event.data.u64, event.events);
  }
  serve();
  flush_held();
  if (crowded_) {
    crowded_ = false;
    for (auto& [id, session] : sessions_) flush(*session);
  }
}

void Server::serve() {
  std::vector<Session*> heard;
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    const auto next = turns_.next();
    if (!next) break;
    const auto found = sessions_.find(*next);
    if (found == sessions_.end()) continue;
    Session& session = *found->second;
    session.has_turn = false;
    if (read_client(session)) heard.push_back(&session);
  }
  hive_->hearing.all_heard = hive_->hearing.all_heard && turns_.empty();
  // No session is closed before the turn ends, and each may have more packets.
  for (Session* session : heard) take_turn(*session);
}

void Server::take_turn(Session& session) {
  if (!std::exchange(session.has_turn, true))
    turns_.add(session.caller.uid, session.caller.session);
}

void Server::handle(std::uint64_t tag, std::uint32_t events) {
  const std::uint64_t id = tag & ((1ULL << kIdBits) - 1);
  switch (static_cast<Source>(tag >> kIdBits)) {
    case Source::kListener:
      (void)accept_clients();
      return;
    case Source::kKeeper:
      return read_keeper();
    case Source::kLife:
      return end_of_life(shm::Incarnation(id));
    case Source::kLingering:
      return settle_lingering(id);
    case Source::kSignal: {
      signalfd_siginfo info{};
      if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
      return end_hive(*hive_, fmt::format("signal {}", info.ssi_signo));
    }
    case Source::kSession: {
      const auto found = sessions_.find(id);
      if (found == sessions_.end() || found->second->doomed) return;
      if ((events & EPOLLOUT) != 0) go_on(*found->second);
      if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) take_turn(*found->second);
      return;
    }
  }
}

// ---- Lives --------------------------------------------------------------------------------------

void Server::watch(const Life& life, Pid pid) {
  watched_[life.incarnation] = pid;
  if (auto added = add(life.pidfd->get(), Source::kLife, life.incarnation.value(), EPOLLIN);
      !added) {
    log_.warn("watch_failed", "agent={} text={}", pid, in_quotes(added.error().text));
  }
}

void Server::unwatch(const Life& life) {
  // The keeper holds the same open file, so closing our descriptor would not end the watch.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, life.pidfd->get(), nullptr);
  watched_.erase(life.incarnation);
}

void Server::end_of_life(shm::Incarnation incarnation) {
  const auto found = watched_.find(incarnation);
  if (found == watched_.end()) return;
  bury(*hive_, found->second, incarnation);
}

// ---- The end ------------------------------------------------------------------------------------

void Server::read_keeper() {
  // Makes room for a listener that the keeper may send. Replacing the old listener frees a number
  // for the reserve again.
  reserve_.reset();
  for (;;) {
    auto packet = keeper_.try_next();
    // After any other error the packet stays in the socket, which stays readable.
    if (!packet) keeper_state_.is_lost = packet.error().code == ErrorCode::kClosed;
    if (!packet || !*packet) break;
    if ((*packet)->text == kDownVerb) {
      end_hive(*hive_, "the keeper was told to end");
    } else if ((*packet)->text == kFilesVerb) {
      follow_files(std::move(**packet));
    }
  }
  reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Server::follow_files(os::Packet packet) {
  // The keeper removes the files now: one that is made again would stay.
  if (quit_.is_said) return;
  if (packet.lost_fds) keeper_.say(kFilesVerb);
  if (!packet.fds.empty() && !hive_->down.has_begun) follow_listener(std::move(packet.fds[0]));
  (void)log_.follow();
  (void)hive_->state.renew();
  hive_->state.report(log_);
}

void Server::follow_listener(os::UniqueFd fd) {
  auto listener = os::PacketSocket::from_fd(std::move(fd));
  if (!listener) {
    log_.warn("listener_refused", "text={}", in_quotes(listener.error().text));
    return;
  }
  // If the listener is another one, accept the clients of the old one now: no process will accept
  // them later.
  for (int count = 0; count <= os::kBacklog && accept_clients(); count += kAcceptsPerTurn) continue;
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
  if (quit_.at_ns == 0) {
    quit_.at_ns = os::monotonic_ns() + kLastWordsNs;
    hive_->gate.settle_all(log_);
    log_.info("going_down", "reason={}", in_quotes(hive_->down.reason));
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
    for (auto& [pid, agent] : hive_->registry.agents()) {
      const ShutdownAnnouncement shutdown{hive_->down.reason};
      if (agent.current) hive_->announce(*agent.current, shutdown);
      if (agent.successor) hive_->announce(*agent.successor, shutdown);
    }
  }
  if (quit_.is_said || (!all_flushed() && os::monotonic_ns() < quit_.at_ns)) return;
  keeper_.say(kQuitVerb);
  quit_.is_said = true;
}

}  // namespace beeline::control
