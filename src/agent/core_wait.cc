#include "src/agent/core_wait.h"

#include <algorithm>
#include <limits>

#include "src/os/timer_fd.h"

namespace beeline {

namespace {

constexpr std::int64_t kConnected = 10'000'000'000;   // nothing but the rare re-scan
constexpr std::int64_t kUnconnected = 1'000'000'000;  // nobody would ring us for a dead sender
constexpr std::int64_t kBelt = 10'000'000;            // while senders still look for a successor,
                                                      // or nobody may ring for a last receipt
constexpr std::int64_t kBeltFor = 5'000'000'000;
constexpr std::int64_t kShortest = 1'000'000;
constexpr std::int64_t kOwing = 1'000'000'000;  // nobody rings when there is memory again
constexpr std::int64_t kNever = receive::Receiver::kNever;
constexpr std::int64_t kLongestLook = 5'000'000;
constexpr std::int64_t kTick = 4'000'000;  // the coarse clock may say a time so much later

}  // namespace

void AgentCore::last_look() {
  flooded_ = false;
  poll_control();
  if (has_ended()) return;  // what lies in the lanes is a successor's
  // The words that say whom our senders ring are read before the lanes: a sender that has not found
  // us yet has put what it sends after this look into a lane without a ring, and the belt bounds
  // how long it lies there.
  belt_ns_ = kConnected;
  if (successor_since_ns_ != 0) {
    const auto& links = receiver_->links().owners().living();
    const bool found = std::all_of(links.begin(), links.end(), [this](const auto* link) {
      return link->view.control().watching.observe() == incarnation_;
    });
    const bool early = os::monotonic_ns() - successor_since_ns_ < kBeltFor;
    if (!found) belt_ns_ = early ? kBelt : kUnconnected;
  }
  if (!bells_.complete() || leaving_) belt_ns_ = kBelt;
  const std::int64_t before = os::coarse_ns();
  flooded_ = !drain_fully(kLongestLook);
  if (!flooded_) look_pace_.note_whole(receiver_->links().looked_at());
  receiver_->forget_time();  // it may be long until the next message
  report_quarantined();      // what this look has found is not kept until the next
  if (receiver_->all_empty()) receiver_->note_all_empty(before);
}

// Takes what lies in the lanes. False when more comes all that while: nobody is kept by a flood.
bool AgentCore::drain_fully(std::int64_t longest_ns) {
  const std::int64_t end = os::monotonic_ns() + longest_ns;
  while (drain_all()) {
    if (os::monotonic_ns() > end) return false;
  }
  return true;
}

std::int64_t AgentCore::longest_block() const {
  if (goes_on()) return kShortest;
  std::int64_t longest = belt_ns_;
  // Nobody rings when there is room for a link that waits.
  if (!postponed_.empty()) longest = std::min(longest, kOwing);
  if (const std::int64_t next = next_payment_ns(); next != kNever) {
    longest = std::clamp(next - os::monotonic_ns(), kShortest, longest);
  }
  if (!retries_.empty()) {
    longest = std::clamp(retries_.next_ns() - os::monotonic_ns(), kShortest, longest);
  }
  if (client_.closed() && !down_) {
    longest = std::clamp(next_resume_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  if (!client_.closed() && next_place_ns_ != std::numeric_limits<std::int64_t>::max()) {
    longest = std::clamp(next_place_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  if (!client_.closed() && next_report_ns_ != 0) {
    longest = std::clamp(next_report_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  if (again_ns_ != kNoToken) {
    longest = std::clamp(again_ns_ - os::monotonic_ns(), kShortest, longest);
  }
  if (receive_rates_.on()) {
    const std::int64_t next = receiver_->next_token_ns();
    if (next != kNever) {
      longest = std::clamp(next - os::monotonic_ns(), kShortest, longest);
    }
  }
  return longest;
}

// Nobody rings for a token, for memory, or for a coordinator that is back: whoever waits outside of
// the library is woken by a timer.
Result<void> AgentCore::make_timer() {
  auto timer = os::create_timer_fd();
  if (!timer) return tl::unexpected(timer.error());
  if (auto watched = bells_.watch(timer->get()); !watched) return watched;
  timer_ = std::move(*timer);
  return {};
}

std::int64_t AgentCore::next_payment_ns() const {
  if (has_left()) return kNever;
  const std::int64_t next = escalations_.next_try_ns();
  return is_unrung_ ? std::min(next, os::monotonic_ns() + kOwing) : next;
}

std::int64_t AgentCore::next_timer_ns() const {
  const std::int64_t next = std::min(next_payment_ns(), retries_.next_ns());
  return receive_rates_.on() ? std::min(next, receiver_->next_token_ns()) : next;
}

void AgentCore::set_timer() {
  const std::int64_t next = armed_ ? next_timer_ns() : kNever;
  const bool wanted = next != kNever;
  // Without a descriptor what is owed waits for the next call.
  if (wanted && !timer_.valid() && !make_timer()) return;
  if (wanted) {
    os::set_timer(timer_.get(), std::max(next, os::monotonic_ns()) + kTick);
  } else if (timer_is_set_) {
    os::set_timer(timer_.get(), 0);
  }
  timer_is_set_ = wanted;
}

void AgentCore::wake_up() {
  armed_ = false;
  set_timer();
  waiter_->wake_up();
  poll_control_at(os::coarse_ns());
}

// Event mode: from here until the next call the agent counts as asleep. The caller looks once more
// at the inbox; a notice that nobody was told of makes the fd readable.
void AgentCore::arm() {
  waiter_->fall_asleep();
  last_look();
  armed_ = true;
  set_timer();
  if (goes_on() || notices_.size() > notices_told_) waiter_->signal_self();
  notices_told_ = notices_.size();
}

// The same where nobody looks at the inbox afterwards.
void AgentCore::arm_again() {
  arm();
  if (receiver_->home().inbox().queued() != 0) waiter_->signal_self();
}

int AgentCore::event_fd() {
  waiter_->use_events();
  if (!armed_) arm_again();
  return bells_.joint();
}

void AgentCore::publish_pressure() {
  const shm::Inbox& inbox = receiver_->home().inbox();
  shm::StatusPage& page = waiter_->status();
  page.queued.relaxed_store(inbox.queued());
  page.critical_queued.relaxed_store(inbox.critical());
}

}  // namespace beeline
