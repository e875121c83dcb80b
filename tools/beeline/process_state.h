#pragma once

// The processes of this machine, as far as /proc shows them, and what /proc/PID/stat tells of one.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::cli {

enum class ProcessState : std::uint8_t {
  kRunning,          ///< R
  kSleeping,         ///< S, I: it waits for something and can be woken
  kUninterruptible,  ///< D: it waits in the kernel, where no signal reaches it
  kStopped,          ///< T, t: by a signal or by a debugger
  kDefunct,          ///< Z, X: it has ended
};

[[nodiscard]] std::string_view to_string(ProcessState state) noexcept;

/// Such a process handles nothing, whatever its agent says of itself.
[[nodiscard]] bool is_stuck(ProcessState state) noexcept;
/// The word for it in place of what its agent says: "stopped" or "stuck"; nothing if it is not.
[[nodiscard]] std::string_view stuck_word(ProcessState state) noexcept;

/// A line of /proc/PID/stat, or of one of its threads.
struct ProcessStat {
  char letter = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::int64_t started_us = 0;  ///< since the machine was started, to 10 ms
};
/// The name in the line may hold blanks and brackets. Nothing if it is no such line.
[[nodiscard]] std::optional<ProcessStat> parse_stat(std::string_view line);

/// Nothing if there is no such process here.
[[nodiscard]] std::optional<ProcessStat> read_stat(pid_t pid);

/// The numbers of all processes that /proc shows. None where it shows those of another pid
/// namespace, whose numbers mean other processes to us.
[[nodiscard]] std::vector<pid_t> all_processes();

/// The state of the process of an agent whose life began `begun_us` after the machine was started.
/// A process that is younger is another one with the same number. Of a process whose first thread
/// has ended the state of the others counts. Errors: kPeerDead (no such process here, or another
/// one), kSystem (a state that we do not know).
[[nodiscard]] Result<ProcessState> read_process_state(pid_t pid, std::int64_t begun_us);

}  // namespace beeline::cli
