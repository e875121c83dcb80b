#pragma once

// The part that all processes of the demo share. Each is one run of `beeline demo-role`.
//
// demo ---- spawns ----> queen ----> lead ----> worker-1 .. worker-4
//
// The steward starts the processes, and starts a killed worker again.
//
// queen  cuts the texts into tasks, gives them to the lead, sums the results
// lead   gives the tasks to the workers, and gives those of a killed one again to its next life
// worker counts
//
// A task has the text as its context, and its result the numbers as its output. Messages, by type:
// `ready` (to the parent, when all below is), `echo` (answered as it is), `finish` (downwards).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/agent.h>

#include "tools/beeline/demo/events.h"
#include "tools/beeline/demo/text.h"

namespace beeline::cli::demo {

inline constexpr std::string_view kQueen = "queen";
inline constexpr std::string_view kLead = "lead";
inline constexpr std::size_t kWorkers = 4;
inline constexpr std::size_t kVictim = 2;  // worker-3 is the one that is killed

inline constexpr std::string_view kReadyType = "ready";
inline constexpr std::string_view kEchoType = "echo";
inline constexpr std::string_view kFinishType = "finish";
// A parameter that makes the worker stop at the first attempt and wait to be killed.
inline constexpr std::string_view kHoldParam = "hold";

// Longest wait of a process for its next event; the demo's watchdog is no longer than this.
inline constexpr std::chrono::seconds kPatience(60);

struct RoleArguments {
  std::string role;
  std::string name;
  std::string directory;
  std::string python;  // the folder of the Python package; empty: all roles are this program
  std::string events;  // path of the pipe
};

[[nodiscard]] std::string worker_name(std::size_t index);

// A child that plays a role, for Processes::spawn().
[[nodiscard]] SpawnOptions child_of_role(const RoleArguments& arguments);

// Waits until these children have ended well, and takes the steward's words of their ends. Errors:
// kClosed (another end), and those of Processes::wait().
[[nodiscard]] Result<void> await_ends(Agent& agent, const std::vector<Pid>& children);

// Attaches as the agent that the parent has spawned.
[[nodiscard]] Result<Agent> attach_role();

// Sends, and waits for room. Errors: those of the send.
[[nodiscard]] Result<void> deliver(Agent& agent, Peer to, std::string_view text,
                                   const SendOptions& options);

// Tells the demo how many messages went where, then leaves the hive.
void close_accounts(Agent& agent, const EventWriter& events);

// The output of a result.
[[nodiscard]] std::string to_text(const Totals& totals);
[[nodiscard]] std::optional<Totals> parse_totals(std::string_view text);
// The number of a task among all texts; 0 if its id is no number.
[[nodiscard]] std::uint32_t number_of(const Task& task);
// The attempt that a worker makes at a task; 1 if nobody has said it.
[[nodiscard]] std::uint32_t attempt_of(const Task& task);
void set_attempt(Task& task, std::uint32_t attempt);

// The main function of each role.
[[nodiscard]] Result<void> run_queen(const RoleArguments& arguments, const EventWriter& events);
[[nodiscard]] Result<void> run_lead(const RoleArguments& arguments, const EventWriter& events);
[[nodiscard]] Result<void> run_worker(const EventWriter& events);

}  // namespace beeline::cli::demo
