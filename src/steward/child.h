#pragma once

// A child of the steward: an agent, and the process that is to become it.

#include <cstdint>
#include <optional>
#include <string>

#include <beeline/processes.h>
#include <beeline/types.h>

#include "src/os/fd.h"

namespace beeline::steward {

// The numbers are stored.
enum class Phase : std::uint8_t {
  kStarting = 0,    // it has a process, or gets one; its agent has not attached
  kRunning = 1,     // its agent has attached
  kRestarting = 2,  // its process has ended, and it gets another one
  kEnded = 3,
};

[[nodiscard]] constexpr const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return "starting";
    case Phase::kRunning:
      return "running";
    case Phase::kRestarting:
      return "restarting";
    case Phase::kEnded:
      break;
  }
  return "ended";
}

// The agent that asked for something, and its word for it: the key of a spawn, or the id of the
// message. Two requests with one tag are one.
struct RequestTag {
  Pid caller = 0;
  std::string word{};
};

// The reason of an end that an agent or an operator asked for.
inline constexpr const char* kKilledReason = "killed";

struct Child {
  std::int64_t id = 0;  // its row in the store
  Pid pid = 0;          // 0: not reserved yet
  Pid parent = 1;
  SpawnOptions spec{};      // every default is filled in
  std::string file_spec{};  // spec_of() its entry in the start file; empty: it was spawned
  RequestTag request{};     // that spawned it
  Phase phase = Phase::kStarting;
  bool is_unwanted = false;                 // it was asked to end, and is not started again
  bool is_forgotten = false;                // the coordinator does not know it any more
  std::string end_reason{};                 // the reason of its end, where the steward ends it
  std::optional<SpawnOptions> next_spec{};  // after this end it is started again so, at once
  std::string trouble{};                    // the fault in its start, if it has one

  // The process.
  std::int32_t os_pid = 0;        // 0: none
  std::uint64_t start_ticks = 0;  // its start, as /proc has it: tells it from a later process
  os::UniqueFd pidfd{};
  bool is_stopping = false;  // SIGSTOP was sent, and nobody has seen it stopped yet
  bool is_adopted = false;   // an earlier steward started it: the keeper reaps it
  os::UniqueFd link{};       // until exec has succeeded or failed

  std::uint64_t restarts = 0;  // lives before this one
  std::uint32_t attempts = 0;  // restarts that count for the limit
  std::int64_t restarted_unix_ns = 0;
  std::int64_t started_unix_ns = 0;
  std::int64_t ended_unix_ns = 0;
  std::optional<ChildExit> end{};  // of its last life

  // It has ended because somebody asked for that.
  [[nodiscard]] bool was_killed() const {
    return phase == Phase::kEnded && end_reason == kKilledReason;
  }
};

}  // namespace beeline::steward
