#pragma once
// The questions that no call waits for: their answers run a handler, or are fetched by the id of
// the question.

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <beeline/event_loop.h>

#include "src/agent/own_life.h"
#include "src/agent/question.h"
#include "src/agent/questions.h"

namespace beeline {

class Announcements;
class Debts;
class Intake;
class Leases;
class Sleeper;

class OpenQuestions {
 public:
  struct Needs {
    OwnLife& life;
    Announcements& announcements;
    Intake& intake;
    Leases& leases;
    Debts& debts;
    Questions& questions;
    Sleeper& sleeper;
  };
  explicit OpenQuestions(const Needs& needs) : with_(needs) {}

  [[nodiscard]] Result<MessageId> ask(Peer to, std::span<const std::byte> payload,
                                      Deadline deadline, Question::Then then,
                                      const SendOptions& options);
  // The same of one that is made already.
  [[nodiscard]] Result<MessageId> ask(std::unique_ptr<Question> question,
                                      std::span<const std::byte> payload,
                                      const SendOptions& options);
  // Null: no such question is open.
  [[nodiscard]] const Question* find(MessageId id) const;
  [[nodiscard]] Result<Deadline> run_answers();
  // Calls the handlers of answers that have come, or that will not come any more, and keeps the
  // others of them for next_answer(). Returns when the next question ends.
  Deadline call_answered();
  // Such an answer is there.
  [[nodiscard]] bool has_news();
  // The same, or the deadline of a question is over.
  [[nodiscard]] bool is_due();
  // The first deadline; Deadline::max() if no question is open.
  [[nodiscard]] Deadline next_deadline() const;

  // ---- Without a handler ----
  [[nodiscard]] std::optional<Answered> next_answer();
  [[nodiscard]] std::size_t answers() const { return answered_.size(); }
  // False: no such question is open, and none of this id has an answer.
  bool forget(MessageId id);
  // Ends the answers that nobody has fetched, when this agent leaves.
  void drop_answers();

 private:
  struct Kept {
    MessageId id = 0;
    Result<shm::EntryIndex> answer;  // leased
  };
  void settle(const Question& question, Result<shm::EntryIndex> answer);

  Needs with_;
  std::vector<std::unique_ptr<Question>> open_;
  std::deque<Kept> answered_;  // in the order in which they came
};

}  // namespace beeline
