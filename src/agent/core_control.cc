// The control path of an agent: what the coordinator announces, and leaving.

#include <algorithm>
#include <utility>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/core_wait.h"
#include "src/agent/ended.h"
#include "src/os/event_fd.h"

namespace beeline {

namespace {

constexpr std::uint32_t kTurnsPerClock = 256;
constexpr std::size_t kMostNotices = 256;
constexpr std::int64_t kNewsPatience = 5'000'000;  // for what the coordinator is about to say
// A call hears announcements for no longer than this; the next call hears the rest.
constexpr std::size_t kHeardAtLeast = 64;
constexpr std::int64_t kLongestHearing = 8'000'000;

}  // namespace

void AgentCore::poll_control_sometimes() {
  if (++turns_ % kTurnsPerClock != 0) return;
  const std::int64_t now_ns = os::coarse_ns();
  receiver_->tell_time(now_ns);
  poll_control_at(now_ns);
}

// Its cost falls where a clock has ticked: not into the calls that it is made from, and the budget
// of instructions leaves it out by its name.
[[gnu::noinline]] void AgentCore::poll_control_now(std::int64_t now_ns) {
  poll_control();
  if (receiver_->all_empty()) receiver_->note_all_empty(now_ns);
}

void AgentCore::poll_control() {
  control_tick_ns_ = os::coarse_ns();
  if (down_) return;
  handle_some_announcements();
  if (client_.closed() && !down_) resume_sometimes();
  if (!still_counts()) return;  // who only sends never drains
  ask_for_postponed();
  place_links();
  ask_for_owners();
  watch_tree();
  Ended(*this).watch_owners();
  watch_peers();
  audit_links();
  report_quarantined();
  Ended(*this).fade_links();
  release_retries();
  receiver_->bury_expired_sometimes();
  offer_room();
  publish_pressure();
  pay_debts();
}

void AgentCore::handle_announcements() {
  const News::Taken taken = news_.taken();
  while (auto next = client_.try_next()) handle(std::move(*next));
  hears_more_ = false;
  news_.note_read(taken);
}

// What our socket had no room for comes as soon as it has: the coordinator is waited for once, and
// looked for in each call after that.
void AgentCore::hear_news() {
  if (!client_.closed()) handle_some_announcements();
  if (client_.closed()) return news_.note_all_read();  // all is announced again after a resume
  if (hears_more_ || !news_.any() || !news_.may_wait()) return;
  const std::int64_t end = os::monotonic_ns() + kNewsPatience;
  for (std::int64_t left = kNewsPatience; left > 0 && news_.any() && !client_.closed();
       left = end - os::monotonic_ns()) {
    static_cast<void>(os::wait_readable(client_.fd(), std::chrono::nanoseconds(left)));
    handle_some_announcements();
  }
}

void AgentCore::handle_some_announcements() {
  const News::Taken taken = news_.taken();
  const std::int64_t end_ns = os::monotonic_ns() + kLongestHearing;
  hears_more_ = true;
  for (std::size_t i = 0; i < kHeardAtLeast || os::monotonic_ns() < end_ns; ++i) {
    auto next = client_.try_next();
    hears_more_ = next.has_value();
    if (!hears_more_) return news_.note_read(taken);
    handle(std::move(*next));
  }
}

void AgentCore::handle(control::Announcement announcement) {
  if (auto* link = std::get_if<control::AnnouncedLink>(&announcement)) handle(std::move(*link));
  if (const auto* died = std::get_if<control::DiedAnnouncement>(&announcement)) handle(*died);
  if (const auto* faded = std::get_if<control::FadedAnnouncement>(&announcement)) {
    Ended(*this).forget_link(*faded);
  }
  if (const auto* ended = std::get_if<control::EndedAnnouncement>(&announcement)) handle(*ended);
  if (const auto* letters = std::get_if<control::LettersAnnouncement>(&announcement)) {
    handle(*letters);
  }
  if (std::holds_alternative<control::CameAnnouncement>(announcement)) ++names_heard_;
  if (std::holds_alternative<control::ShutdownAnnouncement>(announcement)) go_down();
}

void AgentCore::go_down() {
  if (down_) return;
  down_ = true;
  leave();
  note({Notice::Kind::kShutdown, 1, "king"});
}

// From here on nothing is sent any more: whoever took our place would not know of it.
void AgentCore::leave() {
  const auto lock = lock_send();
  left_.store(true,
              std::memory_order_relaxed);  // relaxed: looked at under the lock where it counts
}

// Runs inside fork(): system calls alone.
void AgentCore::become_a_copy() {
  is_forked_ = true;
  left_.store(true, std::memory_order_relaxed);  // relaxed: one thread
  down_ = true;
  attached_ = false;
  status_.hold_addresses_in_child();
  if (receiver_ != nullptr) receiver_->home().memory().hold_addresses_in_child();
  for (const auto& link : out_) {
    if (link != nullptr) link->memory().hold_addresses_in_child();
  }
}

void AgentCore::handle(const control::DiedAnnouncement& died) {
  // One that the coordinator died over is told again by the next.
  const std::pair<Pid, std::uint64_t> life(died.pid, died.incarnation);
  if (std::find(told_ends_.begin(), told_ends_.end(), life) != told_ends_.end()) return;
  told_ends_.push_back(life);
  if (told_ends_.size() > kMostNotices) told_ends_.pop_front();
  const bool away = died.state == shm::AgentState::kAway;
  note({away ? Notice::Kind::kChildAway : Notice::Kind::kChildDead, died.pid, died.name});
}

// Who reads none keeps the newest.
void AgentCore::note(Notice notice) {
  if (notices_.size() >= kMostNotices) {
    notices_.pop_front();
    ++notices_dropped_;
    if (notices_told_ > 0) --notices_told_;
  }
  notices_.push_back(std::move(notice));
}

std::optional<Notice> AgentCore::next_notice() {
  poll_control();
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  if (notices_told_ > 0) --notices_told_;
  return notice;
}

// ---- Leaving ------------------------------------------------------------------------------------

std::uint64_t AgentCore::not_taken() {
  const auto lock = lock_send();
  std::uint64_t count = 0;
  for (const auto& link : out_) {
    if (link != nullptr && !link->dead && !link->ended) count += link->still_awaited();
  }
  return count;
}

void AgentCore::want_all_space(bool wanted) {
  const auto lock = lock_send();
  for (const auto& link : out_) {
    if (link != nullptr) send::SendPath::want_space(*link, send::SpaceFor::kWait, wanted);
  }
}

std::uint64_t AgentCore::detach(Deadline drain_until) {
  if (is_forked_) return 0;
  pay_debts();  // of messages that were refused since the last look, too
  const auto is_drained = [&] {
    return debts_.empty() && escalations_.empty() && not_taken() == 0;
  };
  if (drain_until > Deadline::min() && !is_drained()) {
    want_all_space(true);
    leaving_ = true;  // the last receipt may come without a ring: SpaceRings::ring_sometimes()
    wait_until(drain_until.time_since_epoch().count(), [&] { return down_ || is_drained(); });
    want_all_space(false);
  }
  leave();
  const std::uint64_t rest = not_taken() + drop_debts();
  if (attached_ && !down_) say_goodbye();
  attached_ = false;
  down_ = true;  // what waits, a serve() above us among them, ends
  client_.close();
  return rest;
}

// Where the connection is lost, its successor is told: a name without a process behind it would
// stay taken for as long as this process lives.
void AgentCore::say_goodbye() {
  std::vector<std::uint32_t> empty;
  {
    const auto lock = lock_send();
    for (const auto& link : out_) {
      if (link != nullptr && link->is_unused()) empty.push_back(link->key().serial);
    }
  }
  if (!client_.closed() && client_.detach(empty)) return;
  if (client_.closed() && resume(options_.control_timeout)) {
    static_cast<void>(client_.detach(std::move(empty)));
  }
}

}  // namespace beeline
