#include "src/agent/serving.h"

#include "src/agent/escalations.h"
#include "src/agent/leases.h"
#include "src/agent/open_questions.h"
#include "src/agent/task_desk.h"

namespace beeline {

Result<std::size_t> Serving::serve(const MessageHandler& handler, const ServeOptions& options) {
  std::size_t handled = 0;
  stopped_ = false;
  if (life_.is_forked()) return fail(ErrorCode::kClosed, life_.why_down());
  const auto is_over = [&] {
    if (stopped_ || options.until == Deadline::max()) return stopped_;
    return std::chrono::steady_clock::now() >= options.until;
  };
  while (handled < options.most && !is_over()) {
    const Deadline next = questions_.call_answered();
    if (stopped_) break;
    // A task and a message take turns.
    const bool has_task = tasks_.has_work();
    if (has_task) {
      tasks_.run_next();
      ++handled;
      if (stopped_ || handled >= options.most) break;
    }
    const shm::EntryIndex at = has_task ? intake_.look_for(options.filter)
                                        : await_message(options, std::min(options.until, next));
    if (at == shm::kNoEntry) {
      if (!life_.is_down()) continue;  // a task or an answer has come, or one is overdue
      questions_.call_answered();
      return fail(ErrorCode::kClosed, life_.why_down());
    }
    Message message = leases_.hand_out(at);
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
shm::EntryIndex Serving::await_message(const ServeOptions& options, Deadline until) {
  const shm::EntryIndex at = intake_.look_for(options.filter);
  if (at != shm::kNoEntry || life_.is_down() || has_news()) return at;
  return intake_.wait_for(options.filter, until.time_since_epoch().count(),
                          [this] { return has_news(); });
}

bool Serving::has_news() { return tasks_.has_work() || questions_.has_news(); }

// An exception is a failed attempt: the message is destroyed unfinished, and so put back.
void Serving::handle(const MessageHandler& handler, Message& message) {
  const shm::EntryIndex at = Leases::entry_of(message);
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
      if (leases_.is_leased(at, id)) leases_.defer(at, ack.reply);
      if (message.valid()) leases_.hold(std::move(message));
      break;
    case AckStatus::kRejected:
      if (message.valid()) message.reject(ack.reply);
      break;
    case AckStatus::kEscalate:
      if (message.valid()) escalations_.hand_up(std::move(message), std::move(ack.reply));
      break;
  }
}

}  // namespace beeline
