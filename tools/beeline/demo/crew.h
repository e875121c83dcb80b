#pragma once

// The processes of the demo, seen from the demo itself.

#include <chrono>
#include <utility>

#include <beeline/agent.h>
#include <beeline/result.h>
#include <beeline/types.h>

#include "src/os/fd.h"
#include "tools/beeline/demo/events.h"
#include "tools/beeline/demo/report.h"
#include "tools/beeline/demo/role.h"
#include "tools/beeline/signals.h"

namespace beeline::cli::demo {

// The queen, and with her all others. Those that are left end with the hive.
class Crew {
 public:
  // Makes the pipe and spawns the queen for `agent`. Errors: those of Processes::spawn(), kSystem.
  [[nodiscard]] static Result<Crew> start(Agent& agent, RoleArguments queen);

  // Follows events until the queen has the sum, and kills the worker that holds the marked task.
  // Errors: kClosed (a signal, or the queen ended), kTimeout, and any failure that a process
  // reported.
  [[nodiscard]] Result<void> follow_work(Story& story, Signals& signals, Deadline deadline);

  // Follows events until all processes have closed their accounts and ended, and asks the steward
  // how. Errors: the same, and those of Processes.
  [[nodiscard]] Result<void> follow_end(Story& story, Signals& signals, Deadline deadline);

 private:
  Crew(Agent& agent, EventReader events, Pid queen, os::UniqueFd process)
      : agent_(agent), events_(std::move(events)), queen_(queen), process_(std::move(process)) {}

  // The next event; null after the end of the queen, who ends last.
  Result<Json> next_event(Signals& signals, Deadline deadline);
  Result<void> note(Story& story, const Json& event);

  Agent& agent_;
  EventReader events_;
  Pid queen_;
  os::UniqueFd process_;  // a pidfd of hers
};

// Reaps children until there are none. False if some are left after `timeout`.
[[nodiscard]] bool reap_all(std::chrono::nanoseconds timeout);

}  // namespace beeline::cli::demo
