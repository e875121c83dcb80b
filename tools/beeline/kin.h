#pragma once

#include <sys/types.h>

#include <map>

namespace beeline::cli {

/// The processes of a command: our children in our session, among them what others left behind, and
/// all that these have started. A process that began a session of its own and was left behind by
/// its parent is a daemon, and none of them. REQUIRES: we are a child subreaper.
class Kin {
 public:
  /// `group` is the process group that the command began in.
  explicit Kin(pid_t group) : group_(group) {}

  /// Looks for them in /proc. False if none runs.
  bool look();
  /// Sends a signal to all that look() has found. From then on they stay members, whoever ends
  /// first.
  void signal(int number);

 private:
  struct Process {
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
  };
  using Processes = std::map<pid_t, Process>;

  [[nodiscard]] static Processes all();

  pid_t group_;
  Processes members_;
  Processes signalled_;
};

}  // namespace beeline::cli
