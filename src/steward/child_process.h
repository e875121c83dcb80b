#pragma once

// Makes the process of a child. It stands still until it is released, so that everything about it
// is on record before its program begins.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/steward/process_plan.h"

namespace beeline::steward {

// A process that waits for release(). The end of `link` without it ends the process.
struct StartedProcess {
  pid_t pid = 0;
  os::UniqueFd pidfd;
  os::UniqueFd link;
};
// `output_fd` becomes stdout and stderr; the caller may close it afterwards. Errors: kSystem (no
// process, no thread or no descriptor).
[[nodiscard]] Result<StartedProcess> start_process(ProcessPlan plan, int output_fd);

// The signal that ends a process which nobody can release any more: its program never began.
[[nodiscard]] int unreleased_signal();

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
