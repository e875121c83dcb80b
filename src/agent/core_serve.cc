// The handler loop, and what a handler does with its message.

#include <algorithm>

#include "src/agent/core.h"
#include "src/agent/core_path.h"
#include "src/agent/core_wait.h"
#include "src/agent/letterhead.h"

namespace beeline {

Result<std::size_t> AgentCore::serve(const MessageHandler& handler, const ServeOptions& options) {
  std::size_t handled = 0;
  stop_serving_ = false;
  if (is_forked_) return fail(ErrorCode::kClosed, why_down());
  const auto is_over = [&] {
    return stop_serving_ || std::chrono::steady_clock::now() >= options.until;
  };
  while (handled < options.most && !is_over()) {
    const Deadline next = call_answered();
    if (stop_serving_) break;
    const std::uint32_t at = await_message(options, std::min(options.until, next));
    if (at == shm::kNoEntry) {
      if (!down_) continue;  // an answer has come, or one is overdue
      call_answered();
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
std::uint32_t AgentCore::await_message(const ServeOptions& options, Deadline until) {
  const std::uint32_t at = look_for(options.filter);
  if (at != shm::kNoEntry || down_ || has_news()) return at;
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
      if (message.valid()) escalations_.hand_up(std::move(message), std::move(ack.reply));
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
  if (has_ended()) return false;
  if (drain_turn()) offer_room();  // an order that is obeyed gives its place back
  return receiver_->is_cancelled(entry);
}

// The message is not being handled any more, and its sender is told once. The sender of a question
// waits for the answer.
void AgentCore::defer(std::uint32_t entry, std::string_view reply) {
  if (is_forked_) return;
  std::erase(leases_, entry);
  if (is_deferred(entry)) return;
  deferred_.push_back(entry);
  const shm::Entry& deferred = receiver_->entry(entry);
  if ((deferred.header.flags & shm::kFlagRequiresAck) != 0 && !deferred.is_question()) {
    acknowledge(Subject(deferred), AckStatus::kQueued, reply);
  }
}

bool AgentCore::is_deferred(std::uint32_t entry) const {
  return std::find(deferred_.begin(), deferred_.end(), entry) != deferred_.end();
}

// ---- Control messages ---------------------------------------------------------------------------

SendResult AgentCore::cancel(Peer to, MessageId id) {
  SendOptions options;
  options.type = kCancelOrder;
  options.reply_to = id;
  options.inherit = false;
  const SendResult sent = send_control(to, std::span<const std::byte>(), options);
  if (sent) receiver_->answers().close(id, to.pid);
  return sent;
}

SendResult AgentCore::send_control(Peer to, std::span<const std::byte> payload,
                                   const SendOptions& options) {
  Letterhead head(options, handled());
  head.make_control();
  return send_as(head, to, payload, Deadline::min(), 0);
}

}  // namespace beeline
