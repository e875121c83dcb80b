#pragma once

// Takes the requests to pid 1, checks the rights of their senders and answers them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/message.h>

#include "src/steward/alarms.h"
#include "src/steward/applier.h"
#include "src/steward/caller.h"
#include "src/steward/family.h"
#include "src/steward/kills.h"
#include "src/steward/launcher.h"
#include "src/steward/letters.h"
#include "src/steward/request.h"
#include "src/steward/roster.h"
#include "src/steward/spawns.h"
#include "src/steward/waits.h"

namespace beeline::steward {

class Desk {
 public:
  struct Parts {
    Family& family;
    Roster& roster;
    Launcher& launcher;
    Letters& letters;
    Alarms& alarms;
    Kills& kills;
    Spawns& spawns;
    Applier& applier;
  };
  // Asks for a new list of all agents: see go_on().
  explicit Desk(const Parts& parts, std::function<void()> ask_for_list)
      : parts_(parts), ask_for_list_(std::move(ask_for_list)) {}

  // Takes a message. It waits for go_on() if its sender, or the parent that a spawn names, is not
  // known well enough yet.
  void take(Message message);
  // The family was made anew. If the list `is_old`, another one comes, and messages of agents that
  // are still unknown wait for it; otherwise those agents have left.
  void go_on(bool is_old);
  // No new children: the hive ends.
  void close() { is_closed_ = true; }

  void hear_end(Child& child);
  // A life of this child has ended; it is started again.
  void hear_restart(Child& child) { answer_kills(child, "restarting"); }
  void hear_wait_over(std::int64_t number);

 private:
  void park(Message message);
  void handle(const Caller& caller, Message message);
  void handle(const Caller& caller, const KillRequest& request, Message message);
  void handle(const Caller& caller, const WaitRequest& request, Message message);
  void handle(const Caller& caller, const ListRequest& request, Message message);
  void handle(const Caller& caller, const SignalRequest& request, Message message);
  void refuse(Message message, ErrorCode code, std::string text);
  // Takes what is no request: escalations go to the log.
  void take_other(Message message);
  // The agent that the text means, if the caller may end it.
  [[nodiscard]] Result<Pid> find_target(const Caller& caller, std::string_view verb,
                                        const std::string& text);
  // True if this agent is below the caller, or was when the coordinator forgot it.
  [[nodiscard]] bool owns(const Caller& caller, Pid pid) const;
  [[nodiscard]] Result<void> check_may_kill(const Caller& caller) const;
  // The child that a signal is for, if it has a process to take it.
  [[nodiscard]] Result<Child*> find_process(const Caller& caller, const SignalRequest& request);
  // Answers the SIGKILLs for this child: each waits until the process has ended.
  void answer_kills(const Child& child, std::string_view state);
  [[nodiscard]] ChildInfo info_of(Child& child) const;

  Parts parts_;
  std::function<void()> ask_for_list_;
  Waits waits_{};
  Waits killed_{};
  std::vector<Message> parked_{};
  bool is_closed_ = false;
};

}  // namespace beeline::steward
