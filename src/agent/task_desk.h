#pragma once
// The tasks that the parent gives to this agent.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/task.h>

#include "src/agent/form_bytes.h"
#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/receive/receiver.h"

namespace beeline {

class Leases;
class Sender;

class TaskDesk {
 public:
  struct Needs {
    OwnLife& life;
    receive::Receiver& receiver;
    PeerLinks& links;
    Leases& leases;
    Sender& sender;
  };
  explicit TaskDesk(const Needs& needs) : with_(needs) {}

  void handle(TaskHandler handler);
  void accept(bool wanted);

  // There is a task for the handler.
  [[nodiscard]] bool has_work() const { return handler_ != nullptr && waiting() != 0; }
  [[nodiscard]] std::size_t waiting() const { return with_.receiver.kept().tasks().size(); }
  // Gives the next task to the handler. REQUIRES: has_work().
  void run_next();
  [[nodiscard]] std::optional<TaskRun> next();

  // ---- Of a task that was handed out ----
  [[nodiscard]] bool is_cancelled(Message& lease);
  SendResult report(Message& lease, TaskProgress::Kind kind, std::string_view text);
  void finish(Message& lease, const TaskResult& result);
  void fail(Message& lease, std::string_view text);
  // This agent can still end a task.
  [[nodiscard]] bool is_open() const { return !with_.life.is_forked() && !with_.life.has_left(); }

 private:
  // The life of the parent that has given the task has ended.
  [[nodiscard]] bool has_lost_parent(shm::EntryIndex at) const;
  void answer(Message& lease, const FormBytes& form);
  // Begins the next task that is sound, and passes it on; does nothing where there is none.
  template <typename Use>
  void begin_next(Use&& use);
  // The result of the handler; without one, perhaps the reason.
  [[nodiscard]] std::optional<TaskResult> call_handler(TaskRun& run, std::string& why) const;

  Needs with_;
  std::shared_ptr<const TaskHandler> handler_;  // it may replace itself while it runs
  bool accepts_ = false;                        // without a handler too
};

}  // namespace beeline
