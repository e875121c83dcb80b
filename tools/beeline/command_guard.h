#pragma once

// The process between `beeline reply` and one of its commands. It survives a kill of either.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/os/fd.h"

namespace beeline::cli {

// A command for the shell, and the variables that are added to our environment for it.
struct CommandLine {
  std::string text;
  std::vector<std::pair<std::string, std::string>> environment;
};

// `reply` sends these to a guard, one byte each. The end of the connection means kKill.
enum class GuardOrder : char {
  kEnd = 'e',   // SIGTERM to the command, SIGKILL after kCommandGrace
  kKill = 'k',  // SIGKILL now
};

// A guard sends this to `reply` once: when the command has exited with 0, or when it has ended
// otherwise and none of its processes run any more.
struct GuardReport {
  int status = 0;         // as waitpid() has it
  int stop = 0;           // the signal that had stopped the command, so that the guard ended it;
                          // 0: none
  bool was_told = false;  // an order to end came before the command ended
};

// The name that a guard gives itself, so that a kill of all `beeline reply` by name spares it.
inline constexpr std::string_view kGuardName = "command-guard";

// Seconds that a command may take to end after it was told to.
inline constexpr int kCommandGraceSeconds = 5;

// The descriptors of a guard.
struct GuardEnds {
  os::UniqueFd line;    // the guard's end: orders come in, the report goes out
  os::UniqueFd input;   // stdin of the command
  os::UniqueFd output;  // its stdout
  os::UniqueFd errors;  // its stderr; empty: ours
  int lease = -1;       // stays open while any process of the command runs
};

// The life of a guard, in a child that was forked for it. The guard starts the command. It ends
// the command when it is told to, and when its own parent ends. It stays until no process of the
// command runs.
[[noreturn]] void guard_command(const CommandLine& command, GuardEnds ends);

}  // namespace beeline::cli
