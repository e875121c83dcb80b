#include "src/agent/open_questions.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "src/agent/announcements.h"
#include "src/agent/debts.h"
#include "src/agent/intake.h"
#include "src/agent/leases.h"
#include "src/agent/sleeper.h"

namespace beeline {

Result<MessageId> OpenQuestions::ask(Peer to, std::span<const std::byte> payload, Deadline deadline,
                                     Question::Then then, const SendOptions& options) {
  auto question = std::make_unique<Question>(to, deadline);
  question->pending.for_ack = std::holds_alternative<AckHandler>(then);
  question->then = std::move(then);
  return ask(std::move(question), payload, options);
}

Result<MessageId> OpenQuestions::ask(std::unique_ptr<Question> question,
                                     std::span<const std::byte> payload,
                                     const SendOptions& options) {
  if (open_.size() + answered_.size() >= kMostOpenQuestions) {
    return fail(ErrorCode::kFull, "message to agent " + std::to_string(question->to.pid) + ": " +
                                      std::to_string(kMostOpenQuestions) +
                                      " requests have no answer yet, or one that was not fetched; "
                                      "serve(), run_answers() or poll() ends them as answers come "
                                      "and deadlines pass; nothing was sent");
  }
  question->since = std::chrono::steady_clock::now();
  if (auto asked = with_.questions.ask(*question, payload, options, Deadline::min()); !asked) {
    return tl::unexpected(asked.error());
  }
  const MessageId id = question->pending.request_id;
  open_.push_back(std::move(question));
  return id;
}

Result<Deadline> OpenQuestions::run_answers() {
  if (with_.life.is_forked()) return fail(ErrorCode::kClosed, with_.life.why_down());
  if (!with_.life.has_ended()) {
    with_.announcements.hear();
    if (with_.intake.drain_turn()) with_.sleeper.offer_room();
  }
  const Deadline next = call_answered();
  if (with_.life.is_down()) return fail(ErrorCode::kClosed, with_.life.why_down());
  return next;
}

Deadline OpenQuestions::call_answered() {
  for (std::size_t i = 0; i < open_.size();) {
    Question& question = *open_[i];
    if (Questions::has_progress(question)) {
      with_.questions.tell_progress(question);
      continue;
    }
    if (!with_.questions.is_settled(question) &&
        std::chrono::steady_clock::now() < question.deadline) {
      ++i;
      continue;
    }
    const auto kept = std::move(open_[i]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    settle(*kept, with_.questions.conclude(*kept));
  }
  return next_deadline();
}

Deadline OpenQuestions::next_deadline() const {
  Deadline next = Deadline::max();
  for (const auto& question : open_) next = std::min(next, question->deadline);
  return next;
}

bool OpenQuestions::is_due() {
  return has_news() || next_deadline() <= std::chrono::steady_clock::now();
}

// Nobody catches an exception of the handler; a message that it did not finish is put back.
void OpenQuestions::settle(const Question& question, Result<shm::EntryIndex> answer) {
  if (std::holds_alternative<Fetched>(question.then)) {
    answered_.push_back({question.pending.request_id, std::move(answer)});
    return;
  }
  const auto call = [&](const auto& then) {
    using Handler = std::remove_cvref_t<decltype(then)>;
    if constexpr (std::is_same_v<Handler, ResultHandler>) {
      then(with_.questions.read_result(std::move(answer)));
    } else if constexpr (!std::is_same_v<Handler, Fetched>) {
      if (!answer) return then(tl::unexpected(answer.error()));
      if constexpr (std::is_same_v<Handler, AckHandler>) {
        then(with_.questions.read_ack(*answer));
      } else {
        then(with_.leases.hand_out_aside(*answer));
      }
    }
  };
  try {
    std::visit(call, question.then);
  } catch (...) {
  }
}

bool OpenQuestions::has_news() {
  return std::any_of(open_.begin(), open_.end(), [this](const auto& question) {
    return Questions::has_progress(*question) || with_.questions.is_settled(*question);
  });
}

const Question* OpenQuestions::find(MessageId id) const {
  const auto found = std::find_if(open_.begin(), open_.end(), [id](const auto& question) {
    return question->pending.request_id == id;
  });
  return found == open_.end() ? nullptr : found->get();
}

std::optional<Answered> OpenQuestions::next_answer() {
  if (answered_.empty()) return std::nullopt;
  Kept first = std::move(answered_.front());
  answered_.pop_front();
  if (!first.answer) return Answered{first.id, tl::unexpected(std::move(first.answer.error()))};
  return Answered{first.id, with_.leases.hand_out_aside(*first.answer)};
}

bool OpenQuestions::forget(MessageId id) {
  const auto open = std::find_if(open_.begin(), open_.end(), [id](const auto& question) {
    return question->pending.request_id == id && std::holds_alternative<Fetched>(question->then);
  });
  if (open != open_.end()) {
    const auto question = std::move(*open);
    open_.erase(open);
    with_.questions.end(*question);
    if (question->cancel_on_timeout) with_.debts.cancel(question->to.pid, id);
    return true;
  }
  const auto kept = std::find_if(answered_.begin(), answered_.end(),
                                 [id](const Kept& each) { return each.id == id; });
  if (kept == answered_.end()) return false;
  if (kept->answer) with_.leases.done(*kept->answer, {});
  answered_.erase(kept);
  return true;
}

void OpenQuestions::drop_answers() {
  for (const Kept& each : answered_) {
    if (each.answer) with_.leases.done(*each.answer, {});
  }
  answered_.clear();
}

}  // namespace beeline
