#pragma once

// The steps from the agents that run to those of a start file. Pure: the steward takes the steps.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/steward/start_file.h"

namespace beeline::steward {

// Everything about a spawn that a start file sets, as one text. Two agents with the same text need
// no restart. JSON of one line; the file agents keep it in steward.db.
[[nodiscard]] std::string spec_of(const SpawnOptions& options);

// A child that the steward has, or has had since its last apply.
struct PresentChild {
  enum class Life : std::uint8_t {
    kAlive,     // starting, running or restarting
    kFinished,  // exited with 0, and its policy starts it no more
    kFailed,    // ended in another way
  };
  std::string name{};
  std::string parent{};  // empty: pid 1
  std::string spec{};    // spec_of() its options; empty: it is not of a start file
  Life life = Life::kAlive;
};

struct StartPlan {
  // Names to end for good, children before their parents, all of them from a start file. Their own
  // descendants end with them.
  std::vector<std::string> end{};
  // Indices of the agents of the file, parents first.
  std::vector<std::size_t> restart{};  // ends and is started again as the same agent
  std::vector<std::size_t> start{};    // new, or ended before
  std::size_t same = 0;                // of the file, and needs nothing

  [[nodiscard]] bool is_empty() const noexcept {
    return end.empty() && restart.empty() && start.empty();
  }
};

// Order of the steps: end, restart, start. An agent that changed its parent, role or user, or that
// ends with an ancestor, is ended and started as a new one. An agent that finished stays finished
// while its specification is the same. Errors: kAlreadyRunning, a line for each agent of the file
// whose name a living agent has that is not of a start file.
[[nodiscard]] Result<StartPlan> plan_start(const StartFile& file,
                                           std::span<const PresentChild> present);

}  // namespace beeline::steward
