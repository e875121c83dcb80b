#pragma once

// A task that a command of `beeline reply` does.

#include <string>

#include <beeline/task.h>

#include "src/os/fd.h"
#include "tools/beeline/command_guard.h"

namespace beeline::cli {

struct TaskWork {
  TaskRun run;
  os::UniqueFd context{};  // a file with the context, which the command can open; empty: none
};

// The command for a task. It finds the fields of the task in its environment. The file of the
// context stays in `work`. Errors: kInvalid (a parameter that no environment takes), kSystem.
[[nodiscard]] Result<CommandLine> command_for(const std::string& text, TaskWork& work);

}  // namespace beeline::cli
