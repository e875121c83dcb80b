#pragma once

// The life of the steward's children, from the order to start one to the moment at which nobody
// knows it any more.

#include <chrono>
#include <functional>
#include <string>

#include <beeline/king.h>
#include <beeline/result.h>

#include "src/steward/alarms.h"
#include "src/steward/child.h"
#include "src/steward/family.h"
#include "src/steward/launcher.h"
#include "src/steward/letters.h"
#include "src/steward/roster.h"

namespace beeline::steward {

class Nursery {
 public:
  struct Parts {
    King& king;
    Family& family;
    Roster& roster;
    Launcher& launcher;
    Letters& letters;
    Alarms& alarms;
    Watch& watch;
  };
  struct Events {
    std::function<void(Child&)> ready;
    // Its first life has failed; it is removed afterwards.
    std::function<void(Child&, const Error&)> failed;
    // It has ended for good.
    std::function<void(Child&)> ended;
    // Its life has ended, and it gets another one.
    std::function<void(Child&)> restarting;
  };
  Nursery(const Parts& parts, Events events) : parts_(parts), events_(std::move(events)) {}

  // Starts a child. `ready` or `failed` is called later. Errors: those of Launcher::launch(); then
  // there is no such child.
  [[nodiscard]] Result<Child*> start(Child wanted);
  // Asks a child to end: by the message `shutdown`, then by SIGTERM, and after its grace by
  // SIGKILL. It is not started again. Does nothing if it has ended.
  void ask_to_end(Child& child, const std::string& reason);

  // Ends a child and starts it again with these options, as the same agent.
  void replace(Child& child, SpawnOptions options, const std::string& file_spec);

  // The agent of this pid has attached.
  void hear_ready(Pid pid);
  // The descriptor of this child's link or process is readable.
  void hear_link(std::int64_t id);
  void hear_process(std::int64_t id);
  // An adopted process has ended with this wait status.
  void hear_exit(Child& child, int wait_status);
  // Its end was not seen: nobody knows the status.
  void hear_unknown_end(Child& child);
  // One of kReady, kTerm, kKill, kRestart, kForget for this number.
  void hear_alarm(Duty duty, std::int64_t number);

  // Goes on with a child that a steward before this one has started.
  void resume(Child& child);
  // Removes a child that never had a program, and its agent.
  void abandon(Child& child);
  // Lets the coordinator forget an agent, as soon as it can.
  void forget(Pid pid);
  // Starts a child whose program has never begun, although the steward before this one has made its
  // process.
  void start_over(Child& child);

 private:
  struct Facts {
    int exit_code = -1;
    int signal = 0;
    bool is_known = true;
  };
  [[nodiscard]] Result<void> launch(Child& child);
  // Forgets ended children that have this name, so that another agent may get it. False: there are
  // none.
  bool free_name(const std::string& name);
  void finish(Child& child, const Facts& facts);
  void fail_start(Child& child, const ChildExit& end);
  void follow_policy(Child& child);
  void begin_again(Child& child);
  void retire(Child& child);
  void tell_parent(const Child& child, std::uint32_t crashes);
  void restart(Child& child);
  void clear_alarms(const Child& child);
  void forget_child(Child& child);

  Parts parts_;
  Events events_;
};

}  // namespace beeline::steward
