#pragma once

// Makes the process of a child. It stands still until it is released, so that everything about it
// is on record before its program begins.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <beeline/processes.h>
#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::steward {

// Everything that a new process needs, found before the fork.
class ProcessPlan {
 public:
  // `ticket` goes to the environment. `output_fd` becomes stdout and stderr; the caller keeps it
  // open until start(). With `limit_memory` the memory limit is one of the address space. Errors:
  // kNoAgent never; kInvalid (the program or the directory is not there, or there is no such user),
  // kDenied (another user, and the steward is not root).
  [[nodiscard]] static Result<ProcessPlan> make(const SpawnOptions& options,
                                                const std::string& ticket, int output_fd,
                                                bool limit_memory);

  // A process that waits for release(). The end of `link` without it ends the process.
  struct Started {
    pid_t pid = 0;
    os::UniqueFd pidfd;
    os::UniqueFd link;
  };
  // Errors: kSystem (fork).
  [[nodiscard]] Result<Started> start() const;

 private:
  friend struct NewProcess;
  struct Limit {
    int resource = 0;
    std::uint64_t value = 0;
  };
  std::vector<std::string> argv_;
  std::vector<std::string> programs_;  // paths to try, in the order of PATH
  std::vector<std::string> environment_;
  std::string directory_;
  std::vector<Limit> limits_;
  std::optional<uid_t> uid_;  // nullopt: the steward's
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
  int output_fd_ = -1;
};

// Lets the process begin its program. Errors: kSystem, kPeerDead (it was killed).
[[nodiscard]] Result<void> release(int link);

// The word of a process on its program.
struct ExecReport {
  bool is_started = false;
  std::string error{};  // the step that failed and its reason
};
// nullopt: it has not said anything yet.
[[nodiscard]] std::optional<ExecReport> read_report(int link);

// The start of a process in ticks since the machine was started; 0: there is no such process.
[[nodiscard]] std::uint64_t start_ticks_of(pid_t pid);

}  // namespace beeline::steward
