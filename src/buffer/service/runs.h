#pragma once

// The tasks that are open: each has an agent that pid 1 starts for it, gets the task there, and
// ends with its result.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "src/buffer/config.h"
#include "src/buffer/queries.h"
#include "src/buffer/service/again.h"
#include "src/buffer/service/alarms.h"
#include "src/buffer/service/orders.h"
#include "src/buffer/service/post.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

class Runs {
 public:
  struct Parts {
    Agent& agent;
    Orders& orders;
    Post& post;
    Alarms& alarms;
    Again& again;
    Queries& queries;
    const Config& config;
  };
  explicit Runs(const Parts& parts) : parts_(parts) {}

  // Goes on with the tasks that the life before had open, and ends the agents of those that have
  // ended. Errors: those of the queries.
  [[nodiscard]] Result<void> recover();
  // A task may wait now.
  void look();
  // At the alarm.
  void go_on();

 private:
  struct Run {
    Task task{};
    Pid child = 0;                // 0: none yet
    bool is_redelivered = false;  // an agent may have begun it
  };

  void hear_begun(Result<Answer> answer);
  void spawn(TaskId id);
  void hear_spawned(TaskId id, const Result<std::string>& answer);
  void postpone(TaskId id, const std::string& reason);
  void hear_child(TaskId id, Pid child);
  void execute(TaskId id);
  void hear_result(TaskId id, const Result<TaskResult>& result);
  void fail(TaskId id, std::string reason);
  void end(const TaskEnd& end);
  void close(TaskId id);
  void kill(Pid child);
  // The life before may have been killed after a task had ended, before its agent was.
  void end_left_agents();
  void hear_agents(const Result<std::string>& answer);
  [[nodiscard]] bool has_ended(TaskId id, const std::string& name);
  [[nodiscard]] const AgentTemplate* template_of(const Run& run) const;

  Parts parts_;
  std::map<TaskId, Run> runs_{};
  std::vector<TaskId> put_off_{};  // of the life before; pid 1 is asked again
  std::uint32_t ending_ = 0;       // agents that did their task, and that pid 1 ends now
  bool is_beginning_ = false;      // an order is under way
  bool may_have_ = false;          // a task waits, as far as we know
};

}  // namespace beeline::buffer
