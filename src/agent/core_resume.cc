// Registering again, after the coordinator was restarted or the connection was lost.

#include <algorithm>
#include <limits>

#include "src/agent/core.h"
#include "src/control/roles.h"

namespace beeline {

namespace {

constexpr std::int64_t kFirstPause = 60'000'000;  // between attempts to reach a coordinator
constexpr std::int64_t kLongestPause = 1'000'000'000;
constexpr std::chrono::nanoseconds kPatience = std::chrono::milliseconds(20);
constexpr std::int64_t kPlacePause = 250'000'000;
constexpr std::int64_t kPlaceFor = 5'000'000'000;

}  // namespace

// While messages flow a coordinator that hangs must not hold them up: it is asked, and registered
// with once it has answered.
void AgentCore::resume_sometimes() {
  if (!attached_ || os::monotonic_ns() < next_resume_ns_) return;
  if (resume(kPatience)) {
    resume_pause_ns_ = 0;
    return;
  }
  resume_pause_ns_ = std::clamp(resume_pause_ns_ * 2, kFirstPause, kLongestPause);
  next_resume_ns_ = os::monotonic_ns() + resume_pause_ns_;
}

bool AgentCore::resume(std::chrono::nanoseconds patience) {
  if (!attached_ || down_) return false;
  handle_announcements();
  const auto answered = client_.try_reconnect(patience);
  if (!answered || !*answered) return false;
  const auto done = register_again();
  if (done) return true;
  // Somebody took over, or we were fenced.
  if (done.error().code == ErrorCode::kPeerDead) end_life();
  client_.close();
  return false;
}

void AgentCore::end_life() {
  attached_ = false;
  go_down();
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
  auto resumed = client_.resume(request, receiver_->home().fd(), status_.fd(), bells_.own());
  if (!resumed) return tl::unexpected(resumed.error());
  tree_epoch_ = 0;
  // Nobody's place in the new directory is known before the coordinator has named it.
  if (auto done = map_directory(std::move(resumed->directory)); !done) return done;
  index_ = resumed->index;
  for (const auto& link : receiver_->links()) {
    link->owner_place = nullptr;
    link->fading = false;    // asked again
    link->reported = false;  // told again
  }
  // Asked once more, so that the coordinator knows that we see what it says of the dead.
  for (std::size_t i = 0; i < out_.size() && !client_.closed(); ++i) {
    const auto is_dead = [&] {
      const auto lock = lock_send();  // another thread's send may find out in this moment
      return out_[i] != nullptr && out_[i]->dead;
    };
    if (is_dead()) static_cast<void>(ask_open(*out_[i], true));
  }
  place_until_ns_ = os::monotonic_ns() + kPlaceFor;
  next_place_ns_ = 0;
  place_links();
  if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator went away again");
  return {};
}

// Opens again every link of ours whose receiver has no place in the directory yet. After the loss
// of the keeper too, the coordinator learns of a receiver only when that registers again.
void AgentCore::place_links() {
  if (client_.closed() || os::monotonic_ns() < next_place_ns_) return;
  bool missing = false;
  for (std::size_t i = 0; i < out_.size() && !client_.closed(); ++i) {
    const auto is_missing = [&] {
      const auto lock = lock_send();
      return out_[i] != nullptr && !out_[i]->dead && out_[i]->place == nullptr;
    };
    if (!is_missing()) continue;
    const auto opened = ask_open(*out_[i], true);
    if (opened) continue;
    const ErrorCode code = opened.error().code;
    const bool late = os::monotonic_ns() >= place_until_ns_;
    const auto lock = lock_send();
    out_[i]->dead = code == ErrorCode::kPeerDead || (code == ErrorCode::kNoAgent && late);
    if (code == ErrorCode::kDenied) out_[i]->may_send = false;
    missing |= !out_[i]->dead && out_[i]->may_send;
  }
  next_place_ns_ =
      missing ? os::monotonic_ns() + kPlacePause : std::numeric_limits<std::int64_t>::max();
}

}  // namespace beeline
