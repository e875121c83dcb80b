#pragma once
// The receiver's word to the owner of a link: how far its lanes are taken, and the ring for an
// owner that sleeps for want of space.

#include <cstddef>
#include <cstdint>

#include "src/receive/in_link.h"

namespace beeline::receive {

// One of this many messages that come alone is followed by a fence, in lanes of at least as many
// slots.
inline constexpr std::uint32_t kReceiptsPerFence = 4;

// Shows how far a lane is taken. REQUIRES: the home says so already.
void publish_receipt(const InLink& link, std::size_t lane);

// Shows no more receipts for a link: its owner has ended and nothing is left to take. Slabs that
// are finished later need no stamp.
void close_receipts(InLink& link);

class SpaceRings {
 public:
  // Rings the owner of the link if it waits for space. Called after a receipt or a stamp.
  void ring_for_space(InLink& link);
  // The same after one message that came alone. It may leave the owner to a later call.
  void ring_sometimes(InLink& link);

 private:
  std::uint32_t unfenced_ = 0;  // receipts since the last fence
};

}  // namespace beeline::receive
