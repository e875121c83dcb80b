#pragma once
// The tasks that this agent gives to its children: questions whose answer is a result.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <beeline/task.h>

#include "src/agent/directory.h"
#include "src/agent/form_bytes.h"
#include "src/agent/open_questions.h"
#include "src/agent/peer_links.h"
#include "src/agent/questions.h"

namespace beeline {

class Debts;

class Executions {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    PeerLinks& links;
    Questions& questions;
    OpenQuestions& open;
    Debts& debts;
  };
  explicit Executions(const Needs& needs) : with_(needs) {}

  [[nodiscard]] Result<TaskResult> execute(Peer child, const Task& task, Deadline deadline,
                                           const ProgressHandler& progress);
  [[nodiscard]] Result<MessageId> start(Peer child, const Task& task, ResultHandler then,
                                        ProgressHandler progress, Deadline deadline);
  [[nodiscard]] std::vector<Result<TaskResult>> execute_all(std::span<const Execution> tasks,
                                                            Deadline deadline);
  bool cancel(MessageId task);

 private:
  // A task on its way.
  struct Order {
    Order(const Task& task, Deadline deadline);
    Deadline until;
    FormBytes form;  // empty: the task is too large
    SendOptions options;
  };
  [[nodiscard]] Result<void> check(Peer child, const Order& order) const;
  [[nodiscard]] bool may_execute_on(const shm::AgentRecord& other) const;
  [[nodiscard]] Result<void> mark(Question& question, const Order& order,
                                  const ProgressHandler& progress) const;

  Needs with_;
};

}  // namespace beeline
