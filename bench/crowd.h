#pragma once
// Many agent processes and their lead, all asleep unless they are told otherwise. They share a page
// with the process that started them, on which they note their progress.
//
// conductor   starts the lead, then the members one after the other; gives orders
// lead        one agent, parent of all members
// members     answer the lead

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "bench/case.h"

namespace beeline::bench {

inline constexpr std::size_t kMostInCrowd = 4000;

struct CrowdPage {
  std::atomic<std::uint32_t> steps{0};  // rises with each step that the lead has made
  std::atomic<std::uint32_t> order{0};  // rises with each order to the lead
  std::atomic<std::uint32_t> failed{0};
  std::array<char, 512> failure{};
  std::array<std::int64_t, kMostInCrowd> attach_ns{};
  std::array<std::int64_t, kMostInCrowd> link_ns{};
  std::atomic<std::uint32_t> task{0};      // the task of the next order
  std::array<std::uint64_t, 8> results{};  // of the lead
};

class Crowd {
 public:
  using Play = std::function<Result<void>(CrowdPage&)>;

  // Errors: kSystem.
  [[nodiscard]] static Result<Crowd> create();
  Crowd(Crowd&& other) noexcept;
  Crowd& operator=(Crowd&&) = delete;
  // Kills and reaps processes that still run.
  ~Crowd();

  // Starts a process, which ends with us. Errors: kSystem.
  [[nodiscard]] Result<pid_t> start(const Play& play);
  // Waits for the end of a process that was started.
  static void await_end(pid_t process);
  // Waits until the lead has made this many steps. Errors: that of the process that failed,
  // kTimeout.
  [[nodiscard]] Result<void> await_steps(std::uint32_t steps);
  // Gives the lead a task, and waits for its next step.
  [[nodiscard]] Result<void> order(std::uint32_t task);
  // Waits until all have ended. Errors: that of the process that failed.
  [[nodiscard]] Result<void> finish();

  [[nodiscard]] CrowdPage& page() const { return *page_; }
  [[nodiscard]] const std::vector<pid_t>& processes() const { return processes_; }

 private:
  explicit Crowd(CrowdPage* page) : page_(page) {}
  [[nodiscard]] Result<void> failure() const;
  // Whether a process has ended with a failure.
  [[nodiscard]] bool has_casualty() const;
  CrowdPage* page_;
  std::vector<pid_t> processes_;
};

// For the lead: has made a step.
void make_step(CrowdPage& page);
// For the lead: sleeps until it has this many orders.
void await_order(CrowdPage& page, std::uint32_t count);

// The name of a member as an agent.
[[nodiscard]] std::string member_name(std::size_t number);
inline constexpr const char* kLeadName = "lead";

// Sends, and waits for space. Errors: kSystem.
[[nodiscard]] Result<void> say(Agent& agent, Peer to, std::string_view text);

// Words of the lead to members, which answer with the same word.
inline constexpr std::string_view kHello = "hello";
inline constexpr std::string_view kEcho = "echo";
inline constexpr std::string_view kBye = "bye";
inline constexpr std::string_view kAwake = "awake";    // from here on it polls
inline constexpr std::string_view kAsleep = "asleep";  // from here on it waits in receive() again

// The next message: waits in receive(), or calls try_receive() all the time.
[[nodiscard]] Result<Message> next_message(Agent& agent, bool polls);

// A member: attaches as a child of the lead and opens the link to it, both timed. Says hello, and
// answers until it hears good-bye. For every other message it calls `hear` first, and echoes the
// message if that declines (false).
using Hear = std::function<Result<bool>(Agent&, Peer lead, const Message&)>;
[[nodiscard]] Result<void> play_member(CrowdPage& page, std::size_t number, const Case& what,
                                       const Hear& hear);

// An agent that attaches, says hello to the lead and leaves.
[[nodiscard]] Result<void> play_caller(CrowdPage& page);

// The lead's agent. Like the members it is pinned after its attach: otherwise it would see a
// single CPU, and never spin.
[[nodiscard]] Result<Agent> attach_lead(const Case& what);
// The lead: the next message to it; copies of messages between its members are skipped.
[[nodiscard]] Result<std::string> hear_one(Agent& agent, Pid* from = nullptr);
// The lead: waits for a hello. Returns the pid of its sender.
[[nodiscard]] Result<Pid> await_hello(Agent& agent);
// The lead: says good-bye to all members, and waits for their answers.
[[nodiscard]] Result<void> say_goodbye(Agent& agent, const std::vector<Peer>& members);

}  // namespace beeline::bench
