#pragma once

// The part that all processes of the demo share. Each is one run of `beeline demo-role`.
//
// demo ---- spawns ----> queen ----> lead ----> worker-1 .. worker-4
//
// queen  cuts the texts into tasks, sends them to the lead, sums the results
// lead   spreads the tasks over the workers, passes results up, replaces a worker that died
// worker counts, replies
//
// Messages, by type: `ready` (to the parent, when all below is), `task` and `hold` (id and text),
// `result` (id and numbers), `echo` (answered as it is), `finish` (downwards).

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/agent.h>

#include "tools/beeline/demo/events.h"
#include "tools/beeline/demo/text.h"

namespace beeline::cli::demo {

inline constexpr std::string_view kQueen = "queen";
inline constexpr std::string_view kLead = "lead";
inline constexpr std::size_t kWorkers = 4;
inline constexpr std::size_t kVictim = 2;  // worker-3 is the one that is killed

inline constexpr std::string_view kReadyType = "ready";
inline constexpr std::string_view kTaskType = "task";
// A task that makes the worker stop on its first delivery and wait to be killed.
inline constexpr std::string_view kHoldType = "hold";
inline constexpr std::string_view kResultType = "result";
inline constexpr std::string_view kEchoType = "echo";
inline constexpr std::string_view kFinishType = "finish";

// Longest wait of a process for its next event; the demo's watchdog is no longer than this.
inline constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(60);

struct RoleArguments {
  std::string role;
  std::string name;
  std::string directory;
  int events = -1;
  int parent = 0;  // OS pid of the process that started this role
};

[[nodiscard]] std::string worker_name(std::size_t index);

// The OS process of a role, started by its parent.
[[nodiscard]] Result<pid_t> start_role(const RoleArguments& arguments);

// Waits until a child has ended and reaps it. Errors: kTimeout, kSystem.
[[nodiscard]] Result<int> await_exit(pid_t child, std::chrono::nanoseconds timeout);

// Attaches under the name in `arguments` below `parent`.
[[nodiscard]] Result<Agent> attach_role(const RoleArguments& arguments, std::string_view parent,
                                        std::string_view role);

// Sends, and waits for room. Errors: those of the send.
[[nodiscard]] Result<void> deliver(Agent& agent, Peer to, std::string_view text,
                                   const SendOptions& options);

// Tells the demo how many messages went where, then leaves the hive.
void close_accounts(Agent& agent, const EventWriter& events);

struct TaskResult {
  std::uint32_t task = 0;
  Totals totals;
};
[[nodiscard]] std::string to_text(const TaskResult& result);
[[nodiscard]] std::optional<TaskResult> parse_result(std::string_view text);
// The text of a task and its number: "17\ntext".
struct Task {
  std::uint32_t number = 0;
  std::string_view text;
};
[[nodiscard]] std::optional<Task> parse_task(std::string_view payload);

// The main function of each role.
[[nodiscard]] Result<void> run_queen(const RoleArguments& arguments, const EventWriter& events);
[[nodiscard]] Result<void> run_lead(const RoleArguments& arguments, const EventWriter& events);
[[nodiscard]] Result<void> run_worker(const RoleArguments& arguments, const EventWriter& events);

}  // namespace beeline::cli::demo
