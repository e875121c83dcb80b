#include "src/agent/leases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shm/check.h"
#include "src/agent/debts.h"
#include "src/agent/intake.h"
#include "src/agent/sender.h"
#include "src/agent/turn.h"

namespace beeline {

Leases::Leases(const Needs& needs, const Retries& retries)
    : core_(needs.core),
      life_(needs.life),
      receiver_(needs.receiver),
      sender_(needs.sender),
      sleeper_(needs.sleeper),
      debts_(needs.debts),
      intake_(needs.intake),
      turn_(needs.turn),
      retries_(retries) {}

const shm::Entry* Leases::origin(const SendOptions& options) const {
  if (options.about == nullptr) return handled();
  return holds(*options.about) ? &receiver_.entry(entry_of(*options.about)) : nullptr;
}

void Leases::record_taken(shm::EntryIndex entry) { turn_.recorder().note_taken(entry, true); }

Message Leases::hand_out_aside(shm::EntryIndex entry) {
  if (records_) record_taken(entry);
  handled_.push_back(entry);
  sleeper_.show_activity();
  return Message(&core_, entry.value());
}

void Leases::record_done(shm::EntryIndex entry, AckStatus how) {
  using enum shm::HistoryEvent;
  turn_.recorder().note_end(entry, how == AckStatus::kEscalate ? kEscalated : kDone);
}

Message Leases::hand_over(shm::EntryIndex entry) {
  if (records_) turn_.recorder().note_taken(entry, false);
  sleeper_.show_activity();
  return Message(&core_, entry.value());
}

void Leases::take_batch(std::span<const Message> batch) {
  BEELINE_DCHECK(!handled_.empty());
  handled_.pop_back();
  for (std::size_t i = batch.size(); i != 0; --i) handled_.push_back(entry_of(batch[i - 1]));
}

// Returns whether the sender is to be told how the lease ended.
[[gnu::always_inline]] inline bool Leases::end_lease(shm::EntryIndex entry) {
  if (!handled_.empty() && handled_.back() == entry) {
    handled_.pop_back();
  } else {
    std::erase(handled_, entry);
  }
  const bool told = !deferred_.empty() && std::erase(deferred_, entry) != 0;
  const bool asked = (receiver_.entry(entry).header.flags & shm::kFlagRequiresAck) != 0;
  return asked && is_owed_word(entry, told);
}

// A message of the parent process ends with that, not with ours.
void Leases::done(shm::EntryIndex entry, std::string_view reply, AckStatus how) {
  if (life_.is_forked()) return;
  if (records_) [[unlikely]]
    record_done(entry, how);
  // An agent that finishes an answer probably asks again: see Questions::ask().
  if (receiver_.entry(entry).header.reply_to == 0) sender_.prefetch_next_slot();
  if (end_lease(entry)) [[unlikely]]
    return done_told(entry, reply, how);
  // A user that waits outside of the library drains nothing before it does.
  if (sleeper_.is_armed()) [[unlikely]] {
    receiver_.done(entry);
  } else {
    receiver_.done_of_many(entry);
  }
  sleeper_.offer_room();
  sleeper_.show_activity();
}

// The same where the sender is to be told.
[[gnu::noinline]] void Leases::done_told(shm::EntryIndex entry, std::string_view reply,
                                         AckStatus how) {
  const Subject about(receiver_.entry(entry));
  // The text answers the question as reply() does. The message stays leased until its answer lies
  // in the lane: a kill before that loses neither.
  if (about.is_question && how == AckStatus::kAccepted && !reply.empty()) {
    return debts_.answer(about.id, entry, reply);
  }
  receiver_.done(entry);
  sleeper_.offer_room();
  sleeper_.show_activity();
  debts_.acknowledge(about, how, reply);
}

// Whether its sender is still to be told how the lease ended. `told`: it knows that it takes
// longer.
bool Leases::is_owed_word(shm::EntryIndex entry, bool told) {
  const bool answered = std::erase(answered_, entry) != 0;
  return receiver_.entry(entry).is_question() ? !answered : !told;
}

void Leases::requeue(shm::EntryIndex entry, shm::Cost cost) {
  if (life_.is_forked()) return;
  (void)end_lease(entry);
  if (records_) turn_.recorder().note_end(entry, shm::HistoryEvent::kRequeued);
  if (cost == shm::Cost::kAttempt && retries_.on() && put_off(entry)) return;
  receiver_.requeue(entry, cost);
  sleeper_.show_activity();
  sleeper_.call_user();
}

// False for one that is not to be handed out again by receive(): its last attempt has failed, or it
// was taken back, or it is an answer or a copy.
bool Leases::put_off(shm::EntryIndex entry) {
  const shm::Entry& failed = receiver_.entry(entry);
  const std::uint32_t before = failed.word().attempts;
  const bool is_last = before + 1 >= receiver_.most_attempts();
  const bool is_apart = (failed.header.flags & (shm::kUnindexedFlags | shm::kFlagCopy)) != 0;
  if (is_last || is_apart || life_.has_left() || receiver_.is_cancelled(entry)) return false;
  retries_.put_off(entry, os::monotonic_ns() + retries_.pause_ns(before));
  sleeper_.show_activity();
  sleeper_.renew_timer();
  return true;
}

void Leases::release_retries() {
  if (retries_.empty()) return;
  const auto is_unwanted = [this](shm::EntryIndex at) {
    return receiver_.is_cancelled(at) || receive::has_expired(receiver_.entry(at));
  };
  retries_.release(os::monotonic_ns(), is_unwanted, [this](shm::EntryIndex at) {
    receiver_.requeue(at);
    sleeper_.call_user();
  });
  sleeper_.show_activity();
}

void Leases::drop_retries() {
  const auto all = [](shm::EntryIndex) { return true; };
  retries_.release(0, all, [this](shm::EntryIndex at) { receiver_.requeue(at); });
}

// Nobody tries an answer again that was handed to the call that asked.
void Leases::let_go(shm::EntryIndex entry) {
  if (life_.is_forked()) return;
  const bool is_answer = (receiver_.entry(entry).header.flags & shm::kFlagMatched) != 0;
  return is_answer ? done(entry, {}) : requeue(entry);
}

void Leases::reject(shm::EntryIndex entry, std::string_view reply) {
  if (life_.is_forked()) return;
  const Subject about(receiver_.entry(entry));
  const bool tell = end_lease(entry);
  receiver_.bury(entry, shm::DeadReason::kRejected);
  sleeper_.offer_room();
  sleeper_.show_activity();
  if (tell) debts_.acknowledge(about, AckStatus::kRejected, reply);
}

bool Leases::is_leased(shm::EntryIndex entry, MessageId id) const {
  return receiver_.entry(entry).word().state == shm::EntryState::kLeased &&
         receiver_.entry(entry).header.id == id;
}

Result<Message> Leases::held(MessageId id) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [id](const Message& message) { return message.id() == id; });
  if (found == held_.end()) {
    return fail(ErrorCode::kInvalid, "no handler has left message " + id_text(id) + " as queued");
  }
  Message message = std::move(*found);
  held_.erase(found);
  return message;
}

bool Leases::is_cancelled(shm::EntryIndex entry) {
  if (life_.has_ended()) return false;
  if (intake_.drain_turn()) sleeper_.offer_room();  // an order that is obeyed gives its place back
  return receiver_.is_cancelled(entry);
}

// The message is not being handled any more, and its sender is told once. The sender of a question
// waits for the answer.
void Leases::defer(shm::EntryIndex entry, std::string_view reply) {
  if (life_.is_forked()) return;
  std::erase(handled_, entry);
  if (is_deferred(entry)) return;
  deferred_.push_back(entry);
  const shm::Entry& deferred = receiver_.entry(entry);
  if ((deferred.header.flags & shm::kFlagRequiresAck) != 0 && !deferred.is_question()) {
    debts_.acknowledge(Subject(deferred), AckStatus::kQueued, reply);
  }
}

bool Leases::is_deferred(shm::EntryIndex entry) const {
  return std::find(deferred_.begin(), deferred_.end(), entry) != deferred_.end();
}

std::string_view Leases::type_of(shm::EntryIndex entry) {
  text_ = receiver_.entries().type(entry);
  return text_.view();
}

std::string_view Leases::channel_of(shm::EntryIndex entry) {
  channel_text_ = receiver_.entries().channel(entry);
  return channel_text_.view();
}

}  // namespace beeline
