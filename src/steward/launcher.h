#pragma once

// Gives a child its process. Every step is on record before the next one, so a steward that is
// killed anywhere leaves nothing that its successor does not know.

#include <string>

#include <beeline/king.h>
#include <beeline/result.h>

#include "src/steward/alarms.h"
#include "src/steward/child.h"
#include "src/steward/child_log.h"
#include "src/steward/child_process.h"
#include "src/steward/control_groups.h"
#include "src/steward/family.h"
#include "src/steward/keeper_line.h"
#include "src/steward/roster.h"
#include "src/steward/watch.h"

namespace beeline::steward {

class Launcher {
 public:
  struct Parts {
    King& king;
    KeeperLine& keeper;
    Family& family;
    Roster& roster;
    Alarms& alarms;
    Watch& watch;
  };
  // The directory is there.
  Launcher(const Parts& parts, std::string output_directory);

  // Fails if this machine cannot hold the child to its limits: kInvalid.
  [[nodiscard]] Result<void> check_limits(const ChildLimits& limits) const;
  // Reserves the agent, starts its process and releases it. The child is on record with its pid
  // afterwards. After an error it has no process. Errors: those of King::reserve(), ProcessPlan
  // and KeeperLine.
  [[nodiscard]] Result<void> launch(Child& child);
  // Takes note of an end that is on record: reaps the process, or lets the keeper forget it.
  void release_process(Child& child);

  // Sends a signal to the process group of a child; to the process while it has no group.
  void signal(Child& child, int number) const;
  // Kills everything that an ended process has left behind.
  void kill_rest(const Child& child) const;

  [[nodiscard]] ChildLog log_of(const Child& child) const;
  [[nodiscard]] const ControlGroups& groups() const { return groups_; }

 private:
  [[nodiscard]] Result<std::string> reserve(Child& child);
  [[nodiscard]] Result<void> record(Child& child, StartedProcess started);
  [[nodiscard]] bool needs_group(const Child& child) const;

  Parts parts_;
  std::string output_directory_;
  ControlGroups groups_;
};

}  // namespace beeline::steward
