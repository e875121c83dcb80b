#include "src/agent/sleeper.h"

#include <algorithm>

#include "src/agent/announcements.h"
#include "src/agent/arrivals.h"
#include "src/agent/debts.h"
#include "src/agent/intake.h"
#include "src/agent/leases.h"
#include "src/agent/reports.h"
#include "src/agent/turn.h"
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
constexpr std::int64_t kLongestLook = 5'000'000;
constexpr std::int64_t kTick = 4'000'000;  // the coarse clock may say a time so much later

}  // namespace

Sleeper::Sleeper(segment::Owned status, wake::BellSet bells, const wake::WaitPolicy& policy,
                 const Needs& needs)
    : life_(needs.life),
      client_(needs.client),
      receiver_(needs.receiver),
      notices_(needs.notices),
      arrivals_(needs.arrivals),
      announcements_(needs.announcements),
      reports_(needs.reports),
      leases_(needs.leases),
      debts_(needs.debts),
      intake_(needs.intake),
      turn_(needs.turn),
      status_(std::move(status)),
      bells_(std::move(bells)),
      waiter_(*reinterpret_cast<shm::StatusPage*>(status_.data()), bells_, policy),
      activity_(waiter_.status()) {}

// A turn of a wait, which spins: it looks where a peer would have written.
void Sleeper::look() {
  announcements_.hear();
  intake_.drain_turn();
  turn_.take_sometimes();
}

void Sleeper::last_look() {
  flooded_ = false;
  turn_.take();
  if (life_.has_ended()) return;  // the messages in the lanes are a successor's
  // This agent reads which life its senders ring before it reads the lanes. A sender that has not
  // found this life yet puts a message that it sends after this look into a lane without a ring,
  // and the belt bounds how long the message lies there.
  note_belt();
  const std::int64_t before = os::coarse_ns();
  flooded_ = !intake_.drain_fully(kLongestLook);
  if (!flooded_) intake_.note_whole();
  receiver_.forget_time();        // it may be long until the next message
  reports_.report_quarantined();  // of this look, not of the next
  if (receiver_.kept().has_refused()) debts_.pay_debts();
  if (receiver_.all_empty()) receiver_.note_all_empty(before);
}

bool Sleeper::goes_on() const {
  return flooded_ || receiver_.kept().has_refused() || announcements_.awaits_more() ||
         receiver_.links().owners().called() != 0 || receiver_.is_searching() ||
         receiver_.audit().is_skipping();
}

// For how long a sender that does not know this life yet may leave its messages without a ring.
void Sleeper::note_belt() {
  belt_ns_ = kConnected;
  if (successor_since_ns_ != 0) {
    const auto& links = receiver_.links().owners().living();
    const bool found = std::all_of(links.begin(), links.end(), [this](const auto* link) {
      return shm::Incarnation(link->view().control().watching.observe()) == life_.incarnation();
    });
    const bool early = os::monotonic_ns() - successor_since_ns_ < kBeltFor;
    if (!found) belt_ns_ = early ? kBelt : kUnconnected;
  }
  if (!bells_.complete() || leaving_) belt_ns_ = kBelt;
}

std::int64_t Sleeper::longest_block() {
  if (goes_on()) return kShortest;
  std::int64_t longest = belt_ns_;
  // Nobody rings when there is room for a link that waits.
  if (!arrivals_.postponed().empty()) longest = std::min(longest, kOwing);
  deadlines_.payment = debts_.next_payment_ns();
  deadlines_.retry = leases_.next_retry_ns();
  deadlines_.rate = arrivals_.limits_rates() ? receiver_.next_token_ns() : Deadlines::kNever;
  const std::int64_t next = deadlines_.earliest(!client_.closed(), life_.is_down());
  if (next == Deadlines::kNever) return longest;
  return std::clamp(next - os::monotonic_ns(), kShortest, longest);
}

// Nobody rings for a token, for memory, or for a coordinator that is back: a timer wakes a user
// that waits outside of the library.
Result<void> Sleeper::make_timer() {
  auto timer = os::create_timer_fd();
  if (!timer) return tl::unexpected(timer.error());
  if (auto watched = bells_.watch(timer->get()); !watched) return watched;
  timer_ = std::move(*timer);
  return {};
}

std::int64_t Sleeper::next_timer_ns() const {
  const std::int64_t next = std::min(debts_.next_payment_ns(), leases_.next_retry_ns());
  return arrivals_.limits_rates() ? std::min(next, receiver_.next_token_ns()) : next;
}

void Sleeper::set_timer() {
  const std::int64_t next = armed_ ? next_timer_ns() : Deadlines::kNever;
  const bool wanted = next != Deadlines::kNever;
  // Without a descriptor all of it waits for the next call.
  if (wanted && !timer_.valid() && !make_timer()) return;
  if (wanted) {
    os::set_timer(timer_.get(), std::max(next, os::monotonic_ns()) + kTick);
  } else if (timer_is_set_) {
    os::set_timer(timer_.get(), 0);
  }
  timer_is_set_ = wanted;
}

void Sleeper::wake_up() {
  armed_ = false;
  set_timer();
  waiter_.wake_up();
  turn_.take_at(os::coarse_ns());
}

// Event mode: from here until the next call the agent counts as asleep. The caller looks once more
// at the inbox; a notice that nobody was told of makes the fd readable.
void Sleeper::arm() {
  fall_asleep();
  if (goes_on() || notices_.has_untold()) waiter_.signal_self();
  notices_.note_told();
}

void Sleeper::arm_for_poll() {
  waiter_.use_events();
  fall_asleep();
  if (goes_on()) waiter_.signal_self();
  notices_.note_told();
}

void Sleeper::fall_asleep() {
  armed_ = false;  // this look needs no second one because a place may be free: it drains the lanes
  waiter_.fall_asleep();
  last_look();
  armed_ = true;
  set_timer();
}

// The same where nobody looks at the inbox afterwards.
void Sleeper::arm_again() {
  arm();
  if (receiver_.home().inbox().queued() != 0) waiter_.signal_self();
}

int Sleeper::event_fd() {
  waiter_.use_events();
  if (!armed_) arm_again();
  return bells_.joint();
}

void Sleeper::set_sleeping(bool sleeping) {
  activity_.set_sleeping(sleeping);
  show_activity();
}

void Sleeper::publish_pressure() {
  const shm::Inbox& inbox = receiver_.home().inbox();
  shm::StatusPage& page = waiter_.status();
  const auto tasks = static_cast<std::uint32_t>(receiver_.kept().tasks().size());
  page.queued.relaxed_store(inbox.queued() - tasks);
  page.critical_queued.relaxed_store(inbox.critical());
}

}  // namespace beeline
