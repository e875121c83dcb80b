// The control path of an agent: what the coordinator announces, registering again, leaving.

#include "src/agent/core.h"
#include "src/agent/core_wait.h"
#include "src/control/roles.h"

namespace beeline {

namespace {

constexpr std::int64_t kControlTick =
    4'000'000;  // a busy agent looks at its control socket this often
constexpr std::int64_t kResumePause = 50'000'000;  // between attempts to reach a coordinator
constexpr std::uint32_t kTurnsPerClock = 256;

}  // namespace

void AgentCore::poll_control_sometimes() {
  if (++turns_ % kTurnsPerClock != 0) return;
  const std::int64_t now = os::coarse_ns();
  if (now - control_tick_ns_ < kControlTick) return;
  poll_control();
  if (receiver_->all_empty()) receiver_->note_all_empty(now);
}

void AgentCore::poll_control() {
  control_tick_ns_ = os::coarse_ns();
  if (down_) return;
  while (auto next = client_.try_next()) {
    if (auto* link = std::get_if<control::AnnouncedLink>(&*next)) handle(std::move(*link));
    if (const auto* died = std::get_if<control::DiedAnnouncement>(&*next)) handle(*died);
    if (const auto* faded = std::get_if<control::FadedAnnouncement>(&*next)) handle(*faded);
    if (std::holds_alternative<control::ShutdownAnnouncement>(*next)) go_down();
  }
  if (client_.closed() && !down_) resume();
  watch_owners();
  watch_peers();
  fade_links();
  report_quarantined();
  publish_pressure();
}

void AgentCore::go_down() {
  if (down_) return;
  down_ = true;
  notices_.push_back({Notice::Kind::kShutdown, 1, "king"});
}

void AgentCore::handle(const control::DiedAnnouncement& died) {
  const bool away = died.state == shm::AgentState::kAway;
  notices_.push_back(
      {away ? Notice::Kind::kChildAway : Notice::Kind::kChildDead, died.pid, died.name});
}

// ---- A new coordinator
// ---------------------------------------------------------------------------

void AgentCore::resume() {
  const std::int64_t now = os::monotonic_ns();
  if (now < next_resume_ns_ || !attached_) return;
  next_resume_ns_ = now + kResumePause;
  if (!client_.reconnect()) return;
  const auto done = register_again();
  if (done) return;
  if (done.error().code == ErrorCode::kPeerDead)
    go_down();  // somebody took over, or we were fenced
  client_.close();
}

Result<void> AgentCore::register_again() {
  control::ResumeRequest request;
  request.as.name = name_;
  request.as.role = control::role_from(options_.role).value_or(control::Role::kWorker);
  request.as.temporary = options_.temporary;
  request.pid = pid_;
  request.incarnation = incarnation_;
  request.parent_pid = parent_;
  request.ready = true;
  auto resumed = client_.resume(request, receiver_->home().fd(), status_.fd(), event_.get());
  if (!resumed) return tl::unexpected(resumed.error());
  if (auto done = map_directory(std::move(resumed->directory)); !done) return done;
  for (const auto& link : receiver_->links()) link->fading = false;  // asked again
  for (std::size_t i = 0; i < out_.size(); ++i) {
    if (out_[i] == nullptr || out_[i]->dead) continue;
    const auto opened = ask_open(*out_[i], true);
    if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator went away again");
    if (!opened) out_[i]->dead = opened.error().code == ErrorCode::kPeerDead;
  }
  return {};
}

std::optional<Notice> AgentCore::next_notice() {
  poll_control();
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

std::uint64_t AgentCore::detach(Deadline drain_until) {
  const auto left = [this] {
    const auto lock = lock_send();
    std::uint64_t count = 0;
    for (const auto& link : out_) {
      if (link != nullptr && !link->dead) count += link->not_taken();
    }
    return count;
  };
  if (drain_until > Deadline::min() && left() != 0) {
    const auto want = [this](bool wanted) {
      for (const auto& link : out_) {
        if (link != nullptr) send::SendPath::want_space(*link, wanted);
      }
    };
    want(true);
    wait_until(drain_until.time_since_epoch().count(), [&] { return down_ || left() == 0; });
    want(false);
  }
  const std::uint64_t rest = left();
  if (attached_ && !down_ && !client_.closed()) {
    std::vector<std::uint32_t> empty;
    for (const auto& link : out_) {
      if (link != nullptr && (link->dead || link->is_unused())) empty.push_back(link->key().serial);
    }
    static_cast<void>(client_.detach(std::move(empty)));
  }
  attached_ = false;
  client_.close();
  return rest;
}

}  // namespace beeline
