#pragma once

#include <sys/types.h>

#include <map>
#include <set>

#include "tools/beeline/process_state.h"

namespace beeline::cli {

// The processes of a command: our children in our session (orphans of other processes become our
// children), and all processes that these have started. A process that began a session of its own
// and lost its parent is a daemon and does not belong to them. REQUIRES: we are a child subreaper.
class Kin {
 public:
  // Looks for them in /proc. False if none runs, or /proc does not show them.
  bool look();
  // Sends a signal to all that look() has found. They stay members from then on, in whatever order
  // they end, and so do the processes of their sessions that are left to us.
  void signal(int number);

 private:
  using Processes = std::map<pid_t, ProcessStat>;

  [[nodiscard]] static Processes all();

  Processes members_;
  Processes signalled_;
  std::set<pid_t> sessions_;  // of all that were ever signalled
};

}  // namespace beeline::cli
