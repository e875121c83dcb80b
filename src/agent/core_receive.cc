// The receive side of an agent.

#include <chrono>
#include <limits>
#include <string>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/core_wait.h"

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

// Whoever looks for a certain message looks at all of them, and so does who may have sent one.
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

receive::Selection AgentCore::selection_of(const Filter& filter) {
  return {filter.from, filter.type, filter.channel, filter.reply_to, filter.oldest_first};
}

// Takes all that lies in the lanes now, as far as the table has room for it.
[[gnu::noinline]] void AgentCore::look_at_all() {
  if (!still_counts()) return;
  receiver_->drain_whole();
  look_pace_.note_whole(receiver_->links().looked_at());
}

std::uint32_t AgentCore::look_now(const Filter& filter) {
  const bool wants_any = filter.empty();
  const std::int64_t now_ns = os::coarse_ns();
  poll_control_at(now_ns);
  receiver_->tell_time(now_ns);
  const std::uint32_t alone = take_alone(filter);
  look_pace_.note_found(alone != shm::kNoEntry ||
                        (still_counts() && receiver_->drain_turn(reach_of(wants_any, look_pace_))));
  if (look_pace_.found() || receiver_->home().inbox().queued() != 0) {
    const std::uint64_t most = receiver_->is_crowded() ? kCrowdedLookTicks : kLookTicks;
    look_pace_.put_off(receiver_->was_cut_short() ? 0 : most);  // what lies behind is as old
  }
  if (alone != shm::kNoEntry) return alone;
  if (look_pace_.was_whole_due()) [[unlikely]]
    look_at_all();  // the best of all is to go first
  if (has_ended()) return shm::kNoEntry;
  const std::uint32_t at = wants_any ? receiver_->take() : take(filter);
  return at != shm::kNoEntry ? at : look_again(filter);
}

// A turn does not see all of many links, and what it found may be nothing for whoever asks.
[[gnu::noinline]] std::uint32_t AgentCore::look_again(const Filter& filter) {
  if (!look_pace_.found() && !receiver_->links().has_many()) return shm::kNoEntry;
  look_at_all();
  return has_ended() ? shm::kNoEntry : take(filter);
}

// Before a look that may as well come a little later: who has just taken what lay in its lanes, and
// has answered nothing, is in a stream, and leaves the sender its lines until there is more. Not
// for longer where the table was crowded: it is not any more.
void AgentCore::let_gather() {
  while (look_pace_.found() && receiver_->home().inbox().queued() == 0 &&
         has_just_looked(kLookTicks))
    wake::Waiter::pause();
}

[[gnu::always_inline]] inline std::uint32_t AgentCore::try_take(const Filter& filter) {
  disarm();
  std::uint32_t at = look_for(filter);
  if (at == shm::kNoEntry && waiter_->uses_events() && !has_ended()) {
    arm();
    if (!has_ended()) at = take(filter);
    if (at != shm::kNoEntry) disarm();
  }
  return at;
}

std::optional<Message> AgentCore::try_receive(const Filter& filter) {
  const std::uint32_t at = try_take(filter);
  if (at == shm::kNoEntry) return std::nullopt;
  return hand_out(at);
}

bool AgentCore::urgent() {
  if (!has_ended()) hear();
  return receiver_->has_urgent();
}

Message AgentCore::hand_over(std::uint32_t entry) {
  show_activity();
  return Message(this, entry);
}

Result<Message> AgentCore::receive(const ReceiveOptions& options) {
  if (has_ended()) return fail(ErrorCode::kClosed, why_down());
  if (waiter_->spins() && options.timeout >= kWorthGathering) let_gather();
  if (const std::uint32_t at = try_take(options.filter); at != shm::kNoEntry) return hand_out(at);
  return receive_later(options);
}

Result<Message> AgentCore::receive_later(const ReceiveOptions& options) {
  const auto is_told = [&] { return options.stop_on_notice && !notices_.empty(); };
  const std::uint32_t at = wait_for(options.filter, deadline_after(options.timeout), is_told);
  if (at != shm::kNoEntry) return hand_out(at);
  if (is_told()) return fail(ErrorCode::kNotice, "receive: a notice waits; read it: next_notice()");
  if (down_) return fail(ErrorCode::kClosed, why_down());
  return fail(ErrorCode::kTimeout, no_message(options));
}

std::size_t AgentCore::fill_batch(std::span<Message> batch, const Filter& filter) {
  std::size_t count = 1;
  for (; count < batch.size() && !has_ended(); ++count) {
    const std::uint32_t at = take(filter);
    if (at == shm::kNoEntry) break;
    batch[count] = Message(this, at);
  }
  leases_.pop_back();
  for (std::size_t i = count; i != 0; --i) leases_.push_back(batch[i - 1].entry_);
  return count;
}

Relation AgentCore::relation_of(std::uint32_t entry) const {
  const receive::InLink* link = receiver_->link_of(entry);
  return link == nullptr ? Relation::kOther : link->relation;
}

// A message of the parent process ends with that, not with ours.
void AgentCore::done(std::uint32_t entry, std::string_view reply, AckStatus how) {
  if (is_forked_) return;
  // Whoever finishes an answer asks again, if anything: see ask().
  if (receiver_->entry(entry).header.reply_to == 0) send::prefetch_next_slot();
  if (end_lease(entry)) [[unlikely]]
    return done_told(entry, reply, how);
  receiver_->done(entry);
  offer_room();
  show_activity();
}

// The same of one whose sender is to be told.
[[gnu::noinline]] void AgentCore::done_told(std::uint32_t entry, std::string_view reply,
                                            AckStatus how) {
  const Subject about(receiver_->entry(entry));
  // The text answers the question as reply() does. The message stays leased until its answer lies
  // in the lane: a kill before that loses neither.
  if (about.is_question && how == AckStatus::kAccepted && !reply.empty()) {
    const AckStatus accepted = AckStatus::kAccepted;
    const Pid to = shm::pid_of_message(about.id);
    debts_.push_back(
        {Debt::Kind::kAnswer, to, {about.id, accepted, std::string(reply)}, true, entry});
    return pay_debts();
  }
  receiver_->done(entry);
  offer_room();
  show_activity();
  acknowledge(about, how, reply);
}

void AgentCore::requeue(std::uint32_t entry, shm::Cost cost) {
  if (is_forked_) return;
  static_cast<void>(end_lease(entry));
  if (cost == shm::Cost::kAttempt && retries_.on() && put_off(entry)) return;
  receiver_->requeue(entry, cost);
  show_activity();
  if (armed_) waiter_->signal_self();
}

// False for one that is not to be handed out again by receive(): its last attempt has failed, or it
// was taken back, or it is an answer or a copy.
bool AgentCore::put_off(std::uint32_t entry) {
  const shm::Entry& failed = receiver_->entry(entry);
  const std::uint32_t before = failed.word().attempts;
  const bool is_last = before + 1 >= receiver_->most_attempts();
  const bool is_apart = (failed.header.flags & (shm::kUnindexedFlags | shm::kFlagCopy)) != 0;
  if (is_last || is_apart || has_left() || receiver_->is_cancelled(entry)) return false;
  retries_.put_off(entry, os::monotonic_ns() + retries_.pause_ns(before));
  show_activity();
  if (armed_) set_timer();
  return true;
}

void AgentCore::release_retries() {
  if (retries_.empty()) return;
  const auto is_unwanted = [this](std::uint32_t at) {
    return receiver_->is_cancelled(at) || receive::has_expired(receiver_->entry(at));
  };
  retries_.release(os::monotonic_ns(), is_unwanted, [this](std::uint32_t at) {
    receiver_->requeue(at);
    if (armed_) waiter_->signal_self();
  });
  show_activity();
}

// Nobody tries an answer again that was handed to whoever had asked.
void AgentCore::let_go(std::uint32_t entry) {
  if (is_forked_) return;
  const bool is_answer = (receiver_->entry(entry).header.flags & shm::kFlagMatched) != 0;
  return is_answer ? done(entry, {}) : requeue(entry);
}

void AgentCore::reject(std::uint32_t entry, std::string_view reply) {
  if (is_forked_) return;
  const Subject about(receiver_->entry(entry));
  const bool tell = end_lease(entry);
  receiver_->bury(entry, shm::DeadReason::kRejected);
  offer_room();
  show_activity();
  if (tell) acknowledge(about, AckStatus::kRejected, reply);
}

std::string AgentCore::why_down() const {
  return has_ended()
             ? "this life of the agent has ended: it detached, or another one took its name; "
               "attach again"
             : "the hive went down; attach starts it again";
}

std::string_view AgentCore::type_of(std::uint32_t entry) {
  text_ = receiver_->entries().type(entry);
  return text_.view();
}

std::string_view AgentCore::channel_of(std::uint32_t entry) {
  channel_text_ = receiver_->entries().channel(entry);
  return channel_text_.view();
}

}  // namespace beeline
