#pragma once

#include <sys/types.h>

#include <map>

#include "tools/beeline/process_state.h"

namespace beeline::cli {

/// The processes of a command: our children in our session, among them what others left behind, and
/// all that these have started. A process that began a session of its own and was left behind by
/// its parent is a daemon, and none of them. REQUIRES: we are a child subreaper.
class Kin {
 public:
  /// Looks for them in /proc. False if none runs, or /proc does not show them.
  bool look();
  /// Sends a signal to all that look() has found. From then on they stay members, whoever ends
  /// first.
  void signal(int number);

 private:
  using Processes = std::map<pid_t, ProcessStat>;

  [[nodiscard]] static Processes all();

  Processes members_;
  Processes signalled_;
};

}  // namespace beeline::cli
