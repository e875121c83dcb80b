#pragma once

// The processes of this machine as /proc shows them, and the fields of /proc/PID/stat.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

namespace beeline::cli {

enum class ProcessState : std::uint8_t {
  kRunning,          // R
  kSleeping,         // S, I: it waits for something and can be woken
  kUninterruptible,  // D: it waits in the kernel, where no signal reaches it
  kStopped,          // T, t: by a signal or by a debugger
  kDefunct,          // Z, X: it has ended
};

[[nodiscard]] std::string_view to_string(ProcessState state) noexcept;

// A process in this state handles nothing, whatever its agent's status says.
[[nodiscard]] bool is_stuck(ProcessState state) noexcept;
// The word that replaces the agent's own state: "stopped" or "stuck"; nothing if it is neither.
[[nodiscard]] std::string_view stuck_word(ProcessState state) noexcept;

// A line of /proc/PID/stat, or of one of its threads.
struct ProcessStat {
  char letter = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::int64_t started_us = 0;  // since the machine was started, in steps of 10 ms
};
// The name in the line may hold blanks and brackets. Nothing if the line has another form.
[[nodiscard]] std::optional<ProcessStat> parse_stat(std::string_view line);

// Nothing if there is no such process here.
[[nodiscard]] std::optional<ProcessStat> read_stat(pid_t pid);

// The numbers of all processes that /proc shows. Empty if /proc shows another pid namespace: its
// numbers mean other processes to us.
[[nodiscard]] std::vector<pid_t> all_processes();

// The state of an agent's process. The agent's incarnation began `begun_us` after the start of the
// machine; a younger process is another one with the same number. If the first thread of the
// process has ended, the state of the other threads counts. Errors: kPeerDead (no such process
// here, or another one), kSystem (an unknown state).
[[nodiscard]] Result<ProcessState> read_process_state(pid_t pid, std::int64_t begun_us);

}  // namespace beeline::cli
