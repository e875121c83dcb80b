#pragma once
// A message of ours that something is to come back for: its answer, or its acknowledgement.

#include <chrono>
#include <utility>
#include <variant>

#include <beeline/agent.h>
#include <beeline/task.h>

#include "src/receive/answers.h"
#include "src/send/send_path.h"

namespace beeline {

// The answer is kept until it is fetched by the id of the question.
struct Fetched {};

struct Question {
  Peer to;
  Deadline deadline{};
  // It is waited for; unset where no wait was needed.
  std::chrono::steady_clock::time_point since{};
  receive::PendingReply pending;
  send::SentPlace place;   // of the message; meaningful if `sent_here`
  bool sent_here = false;  // false: it was sent before, nobody knows where it lies
  bool cancel_on_timeout = false;
  using Then = std::variant<AnswerHandler, AckHandler, Fetched, ResultHandler>;
  Then then;                 // of a question that no call waits for
  ProgressHandler progress;  // of a task
  shm::Incarnation life;     // of a task: the life of the child that is to do it; 0: none yet

  Question(Peer peer, Deadline until) : to(peer), deadline(until) { pending.from = peer.pid; }
  // The receiver's table of pending answers refers to it.
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
};

// Completes a question before it is sent; the number is its place among several. Errors: it is not
// to be sent.
using Marking = std::function<Result<void>(std::size_t, Question&)>;

// The error of a call that gives a task.
[[nodiscard]] tl::unexpected<Error> not_executed(Error error);
// Why it was not sent.
[[nodiscard]] Error not_asked(const Question& question, const SendResult& sent);

enum class QuestionState : std::uint8_t { kWaiting, kAnswered, kLeft, kDead, kDeadTaken, kDown };

}  // namespace beeline
