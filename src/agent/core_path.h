#pragma once
// What every message passes, whichever call it is in: taken into that call.

#include "src/agent/core.h"

namespace beeline {

// A busy agent looks at its control socket this often.
inline constexpr std::int64_t kControlTick = 4'000'000;

inline void AgentCore::poll_control_at(std::int64_t now_ns) {
  if (now_ns - control_tick_ns_ >= kControlTick) poll_control_now(now_ns);
}

[[gnu::always_inline]] inline void AgentCore::hear() {
  if (news_.any()) [[unlikely]]
    hear_news();
}

inline const shm::Entry* AgentCore::handled() const {
  return leases_.empty() || is_forked_ ? nullptr : &receiver_->entry(leases_.back());
}

inline void AgentCore::disarm() {
  if (armed_) wake_up();
}

// A place in the table may have become free. Nobody rings for what found none, so whoever waits
// outside of the library is to look again.
inline void AgentCore::offer_room() {
  if (armed_ && receiver_->lacks_room()) waiter_->signal_self();
}

inline void AgentCore::show_activity() {
  using enum shm::AgentActivity;
  const bool leases = receiver_->home().inbox().leased() != 0;
  const auto now = sleeping_ ? kSleeping : blocked_ ? kBlocked : leases ? kRunning : kIdle;
  if (now == shown_activity_) return;
  shown_activity_ = now;
  waiter_->status().activity.relaxed_store(static_cast<std::uint32_t>(now));
}

// ---- Take ---------------------------------------------------------------------------------------

inline std::uint32_t AgentCore::take(const Filter& filter) {
  return filter.empty() ? receiver_->take() : receiver_->take_selected(selection_of(filter));
}

inline std::uint32_t AgentCore::take_alone(const Filter& filter) {
  const bool is_empty =
      receiver_->home().inbox().queued() == 0 || shm::is_mutant(shm::Mutant::kQueuedOverlooked);
  const bool may = is_empty && filter.empty() && still_counts();
  return may ? receiver_->take_alone() : shm::kNoEntry;
}

inline std::uint32_t AgentCore::take_alone(receive::PendingReply& pending) {
  return still_counts() ? receiver_->take_alone(pending) : shm::kNoEntry;
}

// While the inbox holds something, the ordinary lanes are looked at now and then (LookPace). What
// is urgent, and what this thread has sent, is looked for each time.
[[gnu::always_inline]] inline std::uint32_t AgentCore::look_for(const Filter& filter) {
  if (has_ended()) return shm::kNoEntry;
  hear();
  if (receiver_->home().inbox().queued() != 0 && filter.empty() &&
      (has_just_looked(LookPace::kNoLimit) || shm::is_mutant(shm::Mutant::kLookSkipped))) {
    if (const std::uint32_t at = receiver_->take(); at != shm::kNoEntry) return at;
  }
  return look_now(filter);
}

[[gnu::always_inline]] inline bool AgentCore::has_just_looked(std::uint64_t within_ticks) const {
  return look_pace_.may_wait(within_ticks) && receiver_->urgent_lanes_are_empty();
}

inline Message AgentCore::hand_out(std::uint32_t entry) {
  leases_.push_back(entry);
  show_activity();
  return Message(this, entry);
}

// Returns whether the sender is to be told how the lease ended.
[[gnu::always_inline]] inline bool AgentCore::end_lease(std::uint32_t entry) {
  if (!leases_.empty() && leases_.back() == entry) {
    leases_.pop_back();
  } else {
    std::erase(leases_, entry);
  }
  const bool told = !deferred_.empty() && std::erase(deferred_, entry) != 0;
  const bool asked = (receiver_->entry(entry).header.flags & shm::kFlagRequiresAck) != 0;
  return asked && is_owed_word(entry, told);
}

}  // namespace beeline
