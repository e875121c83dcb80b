#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/message.h>
#include <beeline/result.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

class AgentCore;
class Executions;
class TaskDesk;

/// How long a parent waits for the result of a task by default.
inline constexpr std::chrono::seconds kTaskPatience{120};

/// A piece of work that a parent gives to its child. Texts and context are any bytes.
struct Task {
  std::string id{};  ///< empty: the child sees the id of the message that carried the task
  std::string description{};
  std::map<std::string, std::string> params{};
  std::string context{};
  std::chrono::milliseconds timeout = kTaskPatience;  ///< the child sees the time that was left
                                                      ///< when the task was sent
  std::string parent_task{};                          ///< id of the task that this one is a part of
  std::int32_t priority = kNormal;  ///< a rank; of the tasks that wait the child does lower ones
                                    ///< first
  friend bool operator==(const Task&, const Task&) = default;
};

/// The result of a task. A task that ended with an exit code other than zero has a result too.
struct TaskResult {
  std::int32_t exit_code = 0;
  std::string output{};
  std::map<std::string, std::string> artifacts{};
  std::map<std::string, std::string> metadata{};
  friend bool operator==(const TaskResult&, const TaskResult&) = default;
};

/// A word of the child about a task that it has not finished.
struct TaskProgress {
  enum class Kind : std::uint8_t { kUpdate, kLog };
  MessageId task = 0;  ///< as Tasks::execute_then() returned it
  Pid child = 0;
  Kind kind = Kind::kUpdate;
  std::string text{};
};

/// Called with each report of a child, in their order, and never after the result.
using ProgressHandler = std::function<void(const TaskProgress&)>;
/// Called with the result of a task, or with the error of Tasks::execute().
using ResultHandler = std::function<void(Result<TaskResult>)>;

/// One of several tasks of Tasks::execute_all(). Refers to the text of its To and must not outlive
/// it.
struct Execution {
  To child;
  Task task{};
  ProgressHandler progress{};
};

/// A task in the hands of the child. End it with finish() or fail(); one that is destroyed without
/// either fails. It belongs to the thread of its Agent and must not outlive the Agent.
class TaskRun {
 public:
  TaskRun(TaskRun&& other) noexcept;
  TaskRun& operator=(TaskRun&& other) noexcept;
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;
  ~TaskRun();

  /// False after it was moved from or ended.
  [[nodiscard]] bool valid() const { return lease_.valid(); }
  [[nodiscard]] const Task& task() const { return task_; }
  /// The message that carried the task. This one and from() require valid(); the calls below do
  /// nothing for a task that has ended.
  [[nodiscard]] MessageId id() const { return lease_.id(); }
  [[nodiscard]] Pid from() const { return lease_.from(); }
  /// True once nobody waits for the result any more: the parent gave the task up, its time is over,
  /// or the parent's process ended; also once the task has ended. Looks at the urgent lanes first;
  /// no system call.
  [[nodiscard]] bool is_cancelled();

  /// Tells the parent how far the task is. A report does not wait for room: kFull and others mean
  /// that the parent will not see this one. The first one asks the coordinator for a link to the
  /// parent where there is none yet, and so does one after a restart of the coordinator.
  SendResult update(std::string_view text) { return report(TaskProgress::Kind::kUpdate, text); }
  /// Gives the parent a line for its log.
  SendResult log(std::string_view text) { return report(TaskProgress::Kind::kLog, text); }

  /// Ends the task. A result for which the link has no room now is kept and sent later. One that is
  /// larger than this agent may send (AttachOptions::max_payload_bytes) fails the task.
  void finish(const TaskResult& result);
  /// Ends the task without a result: the parent gets ErrorCode::kFailed with this text.
  void fail(std::string_view text);

 private:
  friend class TaskDesk;
  TaskRun(TaskDesk& desk, Message lease) : desk_(&desk), lease_(std::move(lease)) {}
  SendResult report(TaskProgress::Kind kind, std::string_view text);
  void let_go();

  TaskDesk* desk_;
  Message lease_;
  Task task_;
};

/// Does a task and returns its result. To end the task later, for example when the answer to a
/// request has come, the handler moves the run away and returns nothing. An exception fails the
/// task with its text if the run is still in place, and so does a handler that returns nothing.
/// Messages that a handler sends inherit from the task, as those of a message handler do.
using TaskHandler = std::function<std::optional<TaskResult>(TaskRun&)>;

/// The tasks of an agent: those that it gives to its children, and those that its parent gives to
/// it. See Agent::tasks().
///
/// A task goes past the inbox of the child: it is not received, and no inbox is longer for it. A
/// task is done once or not at all. When the child dies, its parent gets an error at once, and a
/// successor of the child does not do the task again.
///
/// Belongs to the thread of its Agent and must not outlive it. Cheap to copy.
class Tasks {
 public:
  // ---- For a parent ----
  /// Gives a task to a child and waits for the result, until the task's timeout is over or until
  /// the deadline, whichever comes first. Then the child's task is cancelled. `progress` hears of
  /// the reports of the child while the call waits.
  ///
  /// Errors: kDenied (no child of this agent), kFailed (the child's handler failed; the text says
  /// why), kPeerDead and kPeerDeadTaken (the child has no process; taken: it may have acted on the
  /// task), kRejected (the child has no task handler, has too many tasks, or gave the task up),
  /// kTimeout, kProtocol (the answer is no result), and those of Agent::request().
  [[nodiscard]] Result<TaskResult> execute(const To& child, const Task& task,
                                           Deadline deadline = Deadline::max(),
                                           const ProgressHandler& progress = {});
  /// Does as execute() does, but returns at once. serve(), run_answers() and EventLoop::poll() call
  /// `progress` and then, once, `then`. Errors, at once: those of a send, kDenied, and kFull while
  /// kMostOpenQuestions tasks and requests have no answer yet. After an error nothing is called.
  [[nodiscard]] Result<MessageId> execute_then(const To& child, const Task& task,
                                               ResultHandler then, ProgressHandler progress = {},
                                               Deadline deadline = Deadline::max());
  /// Gives all these tasks to their children and waits for all results. The children work at the
  /// same time. The results are in the order of the tasks; each is what execute() would have
  /// returned for it.
  [[nodiscard]] std::vector<Result<TaskResult>> execute_all(std::span<const Execution> tasks,
                                                            Deadline deadline = Deadline::max());
  /// Takes a task of execute_then() back. `then` gets kRejected if the child had not begun it,
  /// kFailed if the child ends it without a result, or the result. False: no such task is open.
  bool cancel(MessageId task);

  // ---- For a child ----
  /// The handler of this agent. serve() calls it with each task, between two messages. Without one
  /// an agent refuses tasks at once, so set it right after attach(). An empty handler refuses them
  /// again.
  void handle(TaskHandler handler);
  /// For a loop of your own: `true` keeps tasks for next() where no handler is set.
  void accept(bool wanted = true);
  /// The next task that waits, or nothing. Looks at what the agent has already taken out of its
  /// lanes, so call it after try_receive() or EventLoop::poll().
  [[nodiscard]] std::optional<TaskRun> next();
  /// How many tasks wait. At most a quarter of AttachOptions::inbox_capacity; more are refused.
  [[nodiscard]] std::size_t waiting() const;

 private:
  friend class Agent;
  explicit Tasks(AgentCore* core) : core_(core) {}
  AgentCore* core_;
};

}  // namespace beeline
