#include "src/agent/intake.h"

#include <chrono>
#include <limits>
#include <string>

#include "src/agent/leases.h"

namespace beeline {

namespace {

constexpr std::chrono::microseconds kWorthGathering(100);  // waits of so long lose nothing by it

// When a wait of this length, which may be for ever, ends.
std::int64_t deadline_after(std::chrono::nanoseconds timeout) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (timeout.count() == most) return most;
  const std::int64_t now = os::monotonic_ns();
  return timeout.count() >= most - now ? most : now + timeout.count();
}

// A call for a certain message looks at all of them, and so does an agent that may have sent one.
receive::Reach reach_of(bool wants_any, const LookPace& pace) {
  using enum receive::Reach;
  return wants_any && pace.has_not_sent() ? kShortOfTheEnd : kToTheEnd;
}

std::string no_message(const ReceiveOptions& options) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout).count();
  const char* which = options.filter.empty() ? "no message" : "no message that the filter matches";
  return std::string("receive: ") + which + " came within " + std::to_string(ms) +
         " ms; wait longer, or see with inbox() what is there";
}

}  // namespace

Intake::Intake(const Needs& needs)
    : life_(needs.life),
      receiver_(needs.receiver),
      notices_(needs.notices),
      announcements_(needs.announcements),
      leases_(needs.leases),
      sleeper_(needs.sleeper),
      turn_(needs.turn) {}

receive::Selection Intake::selection_of(const Filter& filter) {
  return {filter.from, filter.type, filter.channel, filter.reply_to, filter.oldest_first};
}

// Takes all messages out of the lanes. False when more come all the while: a flood keeps nobody.
bool Intake::drain_fully(std::int64_t longest_ns) {
  const std::int64_t end = os::monotonic_ns() + longest_ns;
  while (life_.still_counts() && receiver_.drain_all()) {
    if (os::monotonic_ns() > end) return false;
  }
  return true;
}

// Takes all that lies in the lanes now, as far as the table has room for it.
[[gnu::noinline]] void Intake::look_at_all() {
  if (!life_.still_counts()) return;
  receiver_.drain_whole();
  look_pace_.note_whole(receiver_.links().looked_at());
}

shm::EntryIndex Intake::look_now(const Filter& filter) {
  const bool wants_any = filter.empty();
  const std::int64_t now_ns = os::coarse_ns();
  turn_.take_at(now_ns);
  receiver_.tell_time(now_ns);
  const shm::EntryIndex alone = take_alone(filter);
  look_pace_.note_found(
      alone != shm::kNoEntry ||
      (life_.still_counts() && receiver_.drain_turn(reach_of(wants_any, look_pace_))));
  if (look_pace_.found() || receiver_.home().inbox().queued() != 0) {
    const std::uint64_t most = receiver_.is_crowded() ? kCrowdedLookTicks : kLookTicks;
    look_pace_.put_off(receiver_.was_cut_short() ? 0 : most);  // the rest is as old
  }
  if (alone != shm::kNoEntry) return alone;
  if (look_pace_.was_whole_due()) [[unlikely]]
    look_at_all();  // the best of all is to go first
  if (life_.has_ended()) return shm::kNoEntry;
  const shm::EntryIndex at = wants_any ? receiver_.take() : take(filter);
  return at != shm::kNoEntry ? at : look_again(filter);
}

// A turn does not see all of many links, and may have found nothing for this call.
[[gnu::noinline]] shm::EntryIndex Intake::look_again(const Filter& filter) {
  if (!look_pace_.found() && !receiver_.links().has_many()) return shm::kNoEntry;
  look_at_all();
  if (receiver_.kept().has_refused()) turn_.take();  // their senders wait for the word
  return life_.has_ended() ? shm::kNoEntry : take(filter);
}

// Before a look that may as well come a little later: an agent that has just emptied its lanes, and
// has answered nothing, is in a stream, and leaves the sender its lines until there is more. Not
// for longer where the table was crowded: it is not any more.
void Intake::let_gather() {
  while (look_pace_.found() && receiver_.home().inbox().queued() == 0 &&
         has_just_looked(kLookTicks))
    wake::Waiter::pause();
}

[[gnu::always_inline]] inline shm::EntryIndex Intake::try_take(const Filter& filter) {
  sleeper_.disarm();
  shm::EntryIndex at = look_for(filter);
  if (at == shm::kNoEntry && sleeper_.waiter().uses_events() && !life_.has_ended()) {
    sleeper_.arm();
    if (!life_.has_ended()) at = take(filter);
    if (at != shm::kNoEntry) sleeper_.disarm();
  }
  return at;
}

std::size_t Intake::fill_batch(std::span<Message> batch, const Filter& filter) {
  std::size_t count = 1;
  for (; count < batch.size() && !life_.has_ended(); ++count) {
    const shm::EntryIndex at = take(filter);
    if (at == shm::kNoEntry) break;
    batch[count] = leases_.hand_along(at);
  }
  leases_.take_batch(batch.first(count));
  return count;
}

std::optional<Message> Intake::try_receive(const Filter& filter) {
  const shm::EntryIndex at = try_take(filter);
  if (at == shm::kNoEntry) return std::nullopt;
  return leases_.hand_out(at);
}

bool Intake::urgent() {
  if (!life_.has_ended()) announcements_.hear();
  return receiver_.has_urgent();
}

Result<Message> Intake::receive(const ReceiveOptions& options) {
  if (life_.has_ended()) return fail(ErrorCode::kClosed, life_.why_down());
  if (sleeper_.waiter().spins() && options.timeout >= kWorthGathering) let_gather();
  if (const shm::EntryIndex at = try_take(options.filter); at != shm::kNoEntry)
    return leases_.hand_out(at);
  return receive_later(options);
}

Result<Message> Intake::receive_later(const ReceiveOptions& options) {
  const auto is_told = [&] { return options.stop_on_notice && !notices_.empty(); };
  const shm::EntryIndex at = wait_for(options.filter, deadline_after(options.timeout), is_told);
  if (at != shm::kNoEntry) return leases_.hand_out(at);
  if (is_told()) return fail(ErrorCode::kNotice, "receive: a notice waits; read it: next_notice()");
  if (life_.is_down()) return fail(ErrorCode::kClosed, life_.why_down());
  return fail(ErrorCode::kTimeout, no_message(options));
}

}  // namespace beeline
