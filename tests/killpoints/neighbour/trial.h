#pragma once
// Kills in the middle of one operation of a neighbour, and what they leave.

#include <cstdint>
#include <string>

#include "tests/killpoints/neighbour/queue.h"

namespace beeline::killpoints {

struct Outcome {
  std::uint64_t instructions = 0;  // of the operation
  std::uint64_t kills = 0;
  std::uint64_t hangs = 0;    // the fresh process does not come to its end
  std::uint64_t errors = 0;   // or is told that it cannot
  std::uint64_t lost = 0;     // messages that were accepted and have reached nobody
  std::uint64_t corrupt = 0;  // messages that were not sent like this, or come twice
  // Of the instructions after which the queue cannot be used.
  std::uint64_t first_unusable = 0;
  std::uint64_t last_unusable = 0;
  std::string first_error;

  [[nodiscard]] std::uint64_t unusable() const { return hangs + errors; }
};

// Kills after every `stride`th instruction.
[[nodiscard]] Outcome kill_in(const Neighbour& neighbour, Part part, std::uint32_t length,
                              std::uint64_t stride);

}  // namespace beeline::killpoints
