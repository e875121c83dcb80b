#pragma once
// Kills in the middle of one operation of a neighbour, and their effects.

#include <cstdint>
#include <string>

#include "tests/killpoints/neighbour/queue.h"

namespace beeline::killpoints {

struct Outcome {
  std::uint64_t instructions = 0;  // in the operation
  std::uint64_t kills = 0;
  std::uint64_t hangs = 0;    // the fresh process never ends
  std::uint64_t errors = 0;   // or it gets an error
  std::uint64_t lost = 0;     // accepted messages that no process has received
  std::uint64_t corrupt = 0;  // messages with wrong bytes, or that come twice
  // The first instruction after which the queue cannot be used.
  std::uint64_t first_unusable = 0;
  std::uint64_t last_unusable = 0;
  std::string first_error;

  [[nodiscard]] std::uint64_t unusable() const { return hangs + errors; }
};

// Kills after every `stride`th instruction.
[[nodiscard]] Outcome kill_in(const Neighbour& neighbour, Part part, std::uint32_t length,
                              std::uint64_t stride);

}  // namespace beeline::killpoints
