#pragma once

// A new steward takes over: it compares its store, the children that the keeper holds and the list
// of agents, and settles what the steward before it has left half done.

#include <sys/types.h>

#include <map>
#include <string>

#include <beeline/king.h>
#include <beeline/result.h>

#include "src/steward/family.h"
#include "src/steward/keeper_line.h"
#include "src/steward/nursery.h"
#include "src/steward/roster.h"
#include "src/steward/store.h"

namespace beeline::steward {

class Settlement {
 public:
  struct Parts {
    King& king;
    KeeperLine& keeper;
    Store& store;
    Family& family;
    Roster& roster;
    Nursery& nursery;
  };
  explicit Settlement(const Parts& parts) : parts_(parts) {}

  // Errors: those of the store and the keeper; kTimeout (the keeper is silent).
  [[nodiscard]] Result<void> run();

 private:
  [[nodiscard]] Result<void> ask_keeper();
  void settle(Child& child);
  void settle_running(Child& child);
  void settle_stranger(Child& child, bool is_same_boot);
  void end_unknown_processes();
  void forget_leftovers();

  Parts parts_;
  std::map<pid_t, KeeperLine::Word> held_{};  // by the keeper
};

}  // namespace beeline::steward
