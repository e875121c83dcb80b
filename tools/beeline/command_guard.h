#pragma once

// The process between `beeline reply` and one of its commands. It outlives a kill of either.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/os/fd.h"

namespace beeline::cli {

/// A command of the shell and what it finds in its environment beside ours.
struct CommandLine {
  std::string text;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// `reply` sends these to a guard, one byte each. The end of the connection means kKill.
enum class GuardOrder : char {
  kEnd = 'e',   ///< SIGTERM to the command, SIGKILL after kCommandGrace
  kKill = 'k',  ///< SIGKILL now
};

/// A guard sends this to `reply` once: when the command has exited with 0, or when it has ended
/// otherwise and nothing of it runs any more.
struct GuardReport {
  int status = 0;         ///< as waitpid() has it
  int stop = 0;           ///< the signal that had stopped it, so that it was ended; 0: none
  bool was_told = false;  ///< an order to end came before it ended
};

/// The name that a guard gives itself, so that nobody ends it who ends all `beeline reply`.
inline constexpr std::string_view kGuardName = "command-guard";

/// How long a command that was told to end may take for it, in seconds.
inline constexpr int kCommandGraceSeconds = 5;

/// The descriptors of a guard.
struct GuardEnds {
  os::UniqueFd line;    ///< to us: orders and the report
  os::UniqueFd input;   ///< stdin of the command
  os::UniqueFd output;  ///< its stdout
  int lease = -1;       ///< held open while anything of the command runs
};

/// The life of a guard, in a child that was forked for it. It starts the command, ends it when it
/// is told to and when its parent ends, and stays until nothing of the command runs.
[[noreturn]] void guard_command(const CommandLine& command, GuardEnds ends);

}  // namespace beeline::cli
