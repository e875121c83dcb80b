#include "src/agent/name_wait.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "src/agent/announcements.h"
#include "src/agent/directory_tree.h"
#include "src/agent/names.h"
#include "src/agent/sleeper.h"
#include "src/control/agent_info.h"
#include "src/control/name_search.h"
#include "src/control/names.h"
#include "src/control/quotes.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"

namespace beeline {

NameWait::~NameWait() {
  if (pidfd_.valid()) with_.sleeper.bells().dismiss(pidfd_.get());
  if (stop_fd_ >= 0) with_.sleeper.bells().dismiss(stop_fd_);
}

Result<Peer> NameWait::run(const WaitOptions& options) {
  if (with_.life.has_left()) return fail(ErrorCode::kClosed, with_.life.why_down());
  if (auto target = control::check_target(name_); !target) return tl::unexpected(target.error());
  if (auto watched = watch(options); !watched) return tl::unexpected(watched.error());
  const Sleeper::Blocked blocked(with_.sleeper);
  for (;;) {
    // Asked before the look: an agent may attach, and its process end, between the two.
    const bool has_ended = process_has_ended();
    auto peer = look();
    if (peer || !may_still_come(peer.error())) return peer;
    if (has_ended) {
      return ended(ErrorCode::kPeerDead,
                   fmt::format("process {} has ended, and no agent named {} runs: see what it has "
                               "written, and start it again",
                               process_, control::in_quotes(name_)));
    }
    if (is_stopped()) {
      return ended(ErrorCode::kNotice, fmt::format("the wait for an agent named {} was stopped",
                                                   control::in_quotes(name_)));
    }
    if (std::chrono::steady_clock::now() >= deadline_) {
      return ended(peer.error().code, std::move(peer.error().text));
    }
    ask();
    with_.sleeper.wait_until(deadline_.time_since_epoch().count(),
                             [this] { return is_worth_a_look(); });
    with_.sleeper.deadlines().token = Deadlines::kNever;
  }
}

Result<void> NameWait::watch(const WaitOptions& options) {
  process_ = options.process;
  if (process_ != 0) {
    auto pidfd = os::open_pidfd(process_);
    if (!pidfd && pidfd.error().code != ErrorCode::kPeerDead) return tl::unexpected(pidfd.error());
    if (pidfd) {
      if (auto watched = with_.sleeper.bells().invite(pidfd->get()); !watched) return watched;
      pidfd_ = std::move(*pidfd);
    }
  }
  if (options.stop_fd < 0) return {};
  if (auto watched = with_.sleeper.bells().invite(options.stop_fd); !watched) return watched;
  stop_fd_ = options.stop_fd;
  return {};
}

Result<Peer> NameWait::look() {
  heard_ = with_.announcements.names_heard();
  epoch_ = with_.directory.view().epoch();
  if (process_ != 0 && !has_process()) {
    return tl::unexpected(
        control::nobody_named(name_, with_.life.hive(), with_.client.directory()));
  }
  return with_.names.peer(name_);
}

// A pid is never given out again. A coordinator that is away may come back.
bool NameWait::may_still_come(const Error& error) const {
  if (with_.life.has_left()) return false;
  if (error.code == ErrorCode::kPeerDead) return !control::is_number(name_);
  return error.code == ErrorCode::kNoAgent || error.code == ErrorCode::kNoCoordinator ||
         error.code == ErrorCode::kTimeout || error.code == ErrorCode::kClosed;
}

bool NameWait::has_process() const {
  const auto number = control::number_from(name_);
  const Pid pid = number ? *number : with_.names.find_pid(name_);
  const control::Tree tree = read_tree(with_.directory.view());
  const control::AgentNode* node = pid == 0 ? nullptr : tree.find(pid);
  return node != nullptr &&
         (node->state == shm::AgentState::kStarting || node->state == shm::AgentState::kRunning);
}

// Asks the coordinator to tell of the name. If that cannot be sent now, the next pause tries again.
void NameWait::ask() {
  const std::int64_t now_ns = os::monotonic_ns();
  const bool is_due = now_ns >= next_look_ns_;
  if (is_due || asked_heard_ != with_.announcements.names_heard()) {
    (void)with_.client.await_name({std::string(name_), process_ != 0});
    asked_heard_ = with_.announcements.names_heard();
  }
  if (!is_due) return;
  next_look_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLongestPause);
}

bool NameWait::is_worth_a_look() {
  with_.sleeper.deadlines().token = next_look_ns_;
  return with_.life.is_down() || with_.announcements.names_heard() != heard_ ||
         with_.directory.view().epoch() != epoch_ || os::monotonic_ns() >= next_look_ns_ ||
         process_has_ended() || is_stopped();
}

bool NameWait::is_stopped() const {
  return stop_fd_ >= 0 && os::wait_readable(stop_fd_, std::chrono::nanoseconds::zero());
}

bool NameWait::process_has_ended() const {
  return process_ != 0 && (!pidfd_.valid() || os::has_exited(pidfd_.get()));
}

tl::unexpected<Error> NameWait::ended(ErrorCode code, std::string why) const {
  const auto waited = std::chrono::steady_clock::now() - since_;
  return fail(code, fmt::format("{}; waited {} ms", why, waited / std::chrono::milliseconds(1)));
}

}  // namespace beeline
