// The handler loop, and what a handler does with its message.

#include <algorithm>

#include "src/agent/core.h"
#include "src/agent/core_wait.h"
#include "src/agent/letterhead.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

constexpr std::chrono::nanoseconds kPatienceAbove = std::chrono::seconds(1);  // for room

}  // namespace

Result<std::size_t> AgentCore::serve(const MessageHandler& handler, const ServeOptions& options) {
  std::size_t handled = 0;
  stop_serving_ = false;
  if (is_forked_) return fail(ErrorCode::kClosed, why_down());
  const auto is_over = [&] {
    return stop_serving_ || std::chrono::steady_clock::now() >= options.until;
  };
  while (handled < options.most && !is_over()) {
    run_answers();
    if (stop_serving_) break;
    const std::uint32_t at = await_message(options);
    if (at == shm::kNoEntry) {
      if (!down_) continue;  // an answer has come, or one is overdue
      run_answers();
      return fail(ErrorCode::kClosed, why_down());
    }
    Message message = hand_out(at);
    if (message.is_copy() && !options.copies) {
      message.done();
      continue;
    }
    ++handled;
    handle(handler, message);
  }
  return handled;
}

// The next message, or nothing when something else is to be done first.
std::uint32_t AgentCore::await_message(const ServeOptions& options) {
  const std::uint32_t at = look_for(options.filter);
  if (at != shm::kNoEntry || down_ || has_news()) return at;
  const Deadline until = std::min(options.until, next_question_deadline());
  return wait_for(options.filter, until.time_since_epoch().count(), [this] { return has_news(); });
}

// An exception is a failed attempt: the message is destroyed unfinished, and so put back.
void AgentCore::handle(const MessageHandler& handler, Message& message) {
  const std::uint32_t at = message.entry_;
  const MessageId id = message.id();
  Ack ack;
  try {
    ack = handler(message);
  } catch (...) {
    if (message.valid()) message.requeue();
    return;
  }
  switch (ack.status) {
    case AckStatus::kAccepted:
      if (message.valid()) message.done(ack.reply);
      break;
    case AckStatus::kQueued:
      // The handler may have moved it away: it is somebody's lease all the same.
      if (is_leased(at, id)) defer(at, ack.reply);
      if (message.valid()) held_.push_back(std::move(message));
      break;
    case AckStatus::kRejected:
      if (message.valid()) message.reject(ack.reply);
      break;
    case AckStatus::kEscalate:
      if (message.valid()) hand_up(std::move(message));
      break;
  }
}

bool AgentCore::is_leased(std::uint32_t entry, MessageId id) const {
  return receiver_->entry(entry).word().state == shm::EntryState::kLeased &&
         receiver_->entry(entry).header.id == id;
}

Result<Message> AgentCore::held(MessageId id) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [id](const Message& message) { return message.id() == id; });
  if (found == held_.end()) {
    return fail(ErrorCode::kInvalid, "no handler has left message " + id_text(id) + " as queued");
  }
  Message message = std::move(*found);
  held_.erase(found);
  return message;
}

// ---- What a handler does with its message -------------------------------------------------------

bool AgentCore::is_cancelled(std::uint32_t entry) {
  if (is_forked_ || has_ended()) return false;
  if (drain_turn()) offer_room();  // an order that is obeyed gives its place back
  return receiver_->is_cancelled(entry);
}

// The message is not being handled any more, and its sender is told once.
void AgentCore::defer(std::uint32_t entry, std::string_view reply) {
  if (is_forked_) return;
  std::erase(leases_, entry);
  if (is_deferred(entry)) return;
  deferred_.push_back(entry);
  const shm::MessageHeader& header = receiver_->entry(entry).header;
  if ((header.flags & shm::kFlagRequiresAck) != 0) {
    acknowledge(header.id, AckStatus::kQueued, reply);
  }
}

bool AgentCore::is_deferred(std::uint32_t entry) const {
  return std::find(deferred_.begin(), deferred_.end(), entry) != deferred_.end();
}

// Returns whether the sender is to be told how the lease ended.
bool AgentCore::end_lease(std::uint32_t entry) {
  if (!leases_.empty() && leases_.back() == entry) {
    leases_.pop_back();
  } else {
    std::erase(leases_, entry);
  }
  const bool told = !deferred_.empty() && std::erase(deferred_, entry) != 0;
  const bool asked = (receiver_->entry(entry).header.flags & shm::kFlagRequiresAck) != 0;
  return asked && !told;
}

// What no message of ours can carry is cut.
Escalation AgentCore::escalation_of(std::uint32_t entry) const {
  const shm::Entry& original = receiver_->entry(entry);
  const auto whole = receiver_->payload(entry);
  Escalation made{{},
                  whole.first(std::min<std::size_t>(whole.size(), contract_.max_payload_bytes))};
  made.options.rank = kHigh;
  made.options.type = kEscalation;
  made.options.reply_to = original.header.reply_to;
  if ((original.header.flags & shm::kFlagCut) != 0) {
    made.full_length = original.extension().full_length;
  } else if (made.payload.size() < whole.size()) {
    made.full_length = static_cast<std::uint32_t>(whole.size());
  }
  return made;
}

SendResult AgentCore::escalate(std::span<const std::byte> payload, const SendOptions& options) {
  Escalation made{options, payload};
  made.options.type = kEscalation;
  made.options.rank = std::min(options.rank, kHigh);
  return escalate(made, handled(), after(kPatienceAbove));
}

SendResult AgentCore::escalate(std::uint32_t entry) {
  if (is_forked_) return {SendStatus::kNoRoute, 0, 0};
  Escalation made = escalation_of(entry);
  const SendResult sent = escalate(made, &receiver_->entry(entry), after(kPatienceAbove));
  if (sent) end_escalated(entry);
  return sent;
}

// Somebody above has it.
void AgentCore::end_escalated(std::uint32_t entry) {
  const MessageId id = receiver_->entry(entry).header.id;
  if (end_lease(entry)) acknowledge(id, AckStatus::kEscalate, {});
  receiver_->done(entry);
  offer_room();
  show_activity();
}

// The nearest ancestor that lives takes it; the last of them is the coordinator, which logs it. Who
// does not wait overtakes nothing that is owed there.
SendResult AgentCore::escalate(Escalation& made, const shm::Entry* about, Deadline deadline) {
  if (has_left()) return {SendStatus::kNoRoute, 0, 0};
  const Letterhead head(made, about, about != nullptr ? step_from(*about) : 1);
  const auto waits_behind = [&] { return deadline == Deadline::min() && owes_above(made.asked); };
  const std::vector<Pid> above = superiors();  // a send may look at a new tree
  if (above.empty()) return {SendStatus::kNoRoute, 0, 0};
  for (const Pid ancestor : above) {
    if (ancestor == control::kKingPid) break;
    const auto to = peer(ancestor);
    if (!to && to.error().code == ErrorCode::kPeerDead) continue;
    // A task may write to its parent alone, and that is dead.
    if (!to && to.error().code == ErrorCode::kDenied) break;
    made.asked = ancestor;
    if (waits_behind()) return {SendStatus::kFull, 0, 0};
    if (!to) return {status_of(to.error().code), 0, 0};
    const SendResult sent = send_as(head, *to, made.payload, deadline, 0);
    if (sent.status != SendStatus::kPeerDead) return sent;
  }
  made.asked = control::kKingPid;
  return waits_behind() ? SendResult{SendStatus::kFull, 0, 0} : log_escalation(made.payload);
}

// A coordinator that died over it may have written it down already: then it is there twice.
SendResult AgentCore::log_escalation(std::span<const std::byte> payload) {
  constexpr std::size_t kMost = 2000;
  const std::string text(reinterpret_cast<const char*>(payload.data()),
                         std::min(payload.size(), kMost));
  auto done = client_.escalate(text);
  if (client_.closed() && !unasked_ && resume_in_call()) done = client_.escalate(text);
  if (!done && done.error().code == ErrorCode::kFull) return {SendStatus::kFull, 0, 0};
  if (!done) return {SendStatus::kNoRoute, 0, 0};
  return {SendStatus::kOk, 0, 0};
}

// ---- Control messages ---------------------------------------------------------------------------

SendResult AgentCore::cancel(Peer to, MessageId id) {
  SendOptions options;
  options.type = kCancelOrder;
  options.reply_to = id;
  options.inherit = false;
  const SendResult sent = send_control(to, std::span<const std::byte>(), options);
  if (sent) receiver_->close_question(id, to.pid);
  return sent;
}

SendResult AgentCore::send_control(Peer to, std::span<const std::byte> payload,
                                   const SendOptions& options) {
  Letterhead head(options, handled());
  head.make_control();
  return send_as(head, to, payload, Deadline::min(), 0);
}

}  // namespace beeline
