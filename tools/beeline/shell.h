#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/result.h>

#include "tools/beeline/signals.h"

namespace beeline::cli {

struct ShellOutcome {
  int exit_code = 0;  ///< 128 + the number of the signal that ended it
  std::string output;
  bool interrupted = false;  ///< a signal for us arrived: the command was ended
};

/// Most bytes that a command may print.
inline constexpr std::size_t kMaxShellOutput = std::size_t{64} << 20;

/// Runs `command` by /bin/sh -c with `input` on its stdin and returns what it printed; its stderr
/// is ours. It gets SIGTERM when one of `signals` arrives and when we end. Errors: kTooBig (its
/// output; it was killed), kSystem.
[[nodiscard]] Result<ShellOutcome> run_shell(
    const std::string& command, std::string_view input,
    const std::vector<std::pair<std::string, std::string>>& environment, Signals& signals);

}  // namespace beeline::cli
