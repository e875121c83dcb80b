#pragma once

#include <cstdint>

#include "shm/entry.h"

namespace beeline::receive {

// An order to cancel that lies in the table.
struct CancelOrder {
  // None: its place was needed, and it is remembered here alone; or it lies in its lane.
  std::uint32_t entry = shm::kNoEntry;
  std::uint16_t row = 0;
  std::uint64_t id = 0;                 // of the message that it is about
  std::uint32_t found = shm::kNoEntry;  // that message, when it came after the order
  std::uint32_t scanned = 0;            // entries among which it is not
  static constexpr std::uint64_t kNotInLane = ~0ULL;
  std::uint64_t position = kNotInLane;  // in the urgent lane, where it lies if it found no room
  [[nodiscard]] bool in_lane() const { return position != kNotInLane; }
};

}  // namespace beeline::receive
