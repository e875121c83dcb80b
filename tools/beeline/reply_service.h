#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "tools/beeline/guarded_command.h"
#include "tools/beeline/receive_arguments.h"
#include "tools/beeline/task_work.h"

namespace beeline::cli {

struct ReplyArguments {
  ReceiveArguments receive;
  bool echo = false;
  bool tasks = false;  // the command does tasks too
  std::string command;
  std::optional<std::chrono::nanoseconds> command_timeout;
  std::uint32_t parallel = 1;
  std::uint32_t max_attempts = AttachOptions{}.max_attempts;
};

// `beeline reply` after its attach: runs a command for each message and
// each task, and ends it.
class ReplyService {
 public:
  // `lease` is the descriptor of the CommandLease. All arguments must outlive this object.
  ReplyService(const Context& context, const ReplyArguments& arguments, Agent& agent,
               Signals& signals, int lease)
      : context_(context),
        arguments_(arguments),
        filter_(receive_filter(arguments.receive)),
        agent_(agent),
        signals_(signals),
        lease_(lease) {}

  // Serves until enough messages came or a signal or shutdown ends it. No command runs after it
  // returns.
  [[nodiscard]] ExitCode serve();

 private:
  // Why a command was told to end.
  enum class Reason : std::uint8_t { kNone, kTimeout, kTakenBack, kSignal, kShutdown };
  struct Job {
    Message message;                 // invalid in a job for a task
    std::unique_ptr<TaskWork> task;  // its address does not change: the command reads from it
    GuardedCommand command;
    Deadline end;
    Reason reason = Reason::kNone;
  };

  [[nodiscard]] bool may_take() const;
  [[nodiscard]] bool is_over() const { return jobs_.empty() && (ending_ || !may_take()); }
  void look_for_the_end();
  void end_all(Reason reason);
  void take_work();
  bool take_one();
  bool take_task();
  void take(Message message);
  void step_jobs();
  void end_job(Job& job, Reason reason);
  void finish(Job& job, const GuardedCommand::Outcome& outcome);
  void finish_failed(Job& job, const GuardedCommand::Outcome& outcome);
  void finish_ended(Job& job);
  static void finish_task(Job& job, GuardedCommand::Outcome outcome);
  static void pass_lines(Job& job);
  [[nodiscard]] static bool is_taken_back(Job& job);
  void put_back(Message& message, const std::string& why);
  void reject(Message& message, const std::string& why);
  void answer(Message& message, std::string_view text);
  void wait(Deadline until) const;
  void drop_ended_leftovers();
  void end_leftovers();
  [[nodiscard]] ExitCode exit_code() const;

  const Context& context_;
  const ReplyArguments& arguments_;
  Filter filter_;
  Agent& agent_;
  Signals& signals_;
  int lease_;
  std::vector<Job> jobs_;
  std::vector<GuardProcess> leftovers_;  // of commands that left something in the background
  std::set<Pid> full_;                   // senders that had no room for a reply
  std::uint64_t taken_ = 0;
  Deadline idle_end_ = Deadline::max();
  std::optional<Reason> ending_;
};

}  // namespace beeline::cli
