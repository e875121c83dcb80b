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

Result<void> AgentCore::resume_in_call() {
  return resume(is_silent_ ? kPatience : options_.control_timeout);
}

Result<void> AgentCore::resume(std::chrono::nanoseconds patience) {
  const auto left = [this] { return fail(ErrorCode::kClosed, why_down()); };
  if (!attached_ || down_) return left();
  handle_announcements();
  if (down_) return left();
  const auto answered = client_.try_reconnect(patience);
  const bool silent = answered ? !*answered : answered.error().code == ErrorCode::kTimeout;
  is_silent_ |= silent && patience >= options_.control_timeout;
  if (!answered) return tl::unexpected(answered.error());
  if (!*answered) {
    return fail(ErrorCode::kTimeout,
                "the coordinator at " + client_.socket_path() + " has not answered yet; ask again");
  }
  is_silent_ = false;
  auto done = register_again();
  if (done) return done;
  // Somebody took over, or we were fenced.
  if (done.error().code == ErrorCode::kPeerDead) end_life();
  client_.close();
  return has_ended() ? left() : done;
}

void AgentCore::end_life() {
  attached_ = false;
  go_down();
}

Result<void> AgentCore::register_again() {
  control::ResumeRequest request;
  request.as.name = name_;
  request.as.role = control::role_from(options_.role).value_or(control::Role::kWorker);
  request.as.temporary = options_.temporary || options_.name.empty();
  request.pid = pid_;
  request.incarnation = incarnation_;
  request.parent_pid = parent_;
  request.ready = true;
  auto resumed = client_.resume(request, receiver_->home().fd(), status_.fd(), bells_.own());
  if (!resumed) return tl::unexpected(resumed.error());
  tree_epoch_ = 0;
  links_to_come_ = resumed->in_links;
  refused_.clear();  // announced again, and refused again
  postponed_.ask_anew();
  all_known_of_ = resumed->all_known_of;
  asks_for_owners_ = true;
  // Nobody's place in the new directory is known before the coordinator has named it.
  auto mapped = map_directory(std::move(resumed->directory), resumed->index);
  if (!mapped) return mapped;
  for (const auto& link : receiver_->links().all()) {
    link->owner_place = nullptr;
    link->fading = false;    // asked again
    link->reported = false;  // told again
    receiver_->links().owners().call(*link);
  }
  // Asked once more, so that the coordinator knows that we see what it says of the dead.
  for (std::size_t i = 0; i < out_.size() && !client_.closed(); ++i) {
    const auto is_dead = [&] {
      const auto lock = lock_send();  // another thread's send may find out in this moment
      return out_[i] != nullptr && out_[i]->dead;
    };
    if (!is_dead()) continue;
    static_cast<void>(ask_open(*out_[i], true));
    refresh_peer(out_[i]->peer());
  }
  place_until_ns_ = os::monotonic_ns() + kPlaceFor;
  next_place_ns_ = 0;
  escalations_.try_again_now();
  place_links();
  if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator went away again");
  return {};
}

// In-links that a new coordinator did not announce: their owners are finally dead, and we missed it
// in the old directory. It is asked for each, and its answer says that the owner is gone. Not for
// lives that are older than the keeper: they may still come back, with what we have taken already.
void AgentCore::ask_for_owners() {
  if (!asks_for_owners_ || links_to_come_ > 0 || client_.closed()) return;
  bool asked = true;
  for (const auto& link : receiver_->links().all()) {
    const bool lost = link->owner_place == nullptr && !link->owner_gone;
    if (!lost || link->key.incarnation < all_known_of_) continue;
    asked = asked && client_.fade(link->key.incarnation, link->key.serial).has_value();
  }
  asks_for_owners_ = !asked;
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
    const bool late = !is_placing();
    {
      const auto lock = lock_send();
      out_[i]->dead = code == ErrorCode::kPeerDead || (code == ErrorCode::kNoAgent && late);
      if (code == ErrorCode::kDenied) out_[i]->may_send = false;
      missing |= !out_[i]->dead && out_[i]->may_send;
    }
    refresh_peer(out_[i]->peer());
  }
  next_place_ns_ =
      missing ? os::monotonic_ns() + kPlacePause : std::numeric_limits<std::int64_t>::max();
}

}  // namespace beeline
