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

// Shows how far a lane is taken. SYNC(lane.receipt): release, pairs with LaneWriter::refresh().
// REQUIRES: the home says so already: a receipt never promises more than the home holds.
inline void publish_receipt(const InLink& link, shm::Lane lane) {
  if (!link.sink().valid()) return;
  const auto index = static_cast<std::size_t>(lane);
  link.sink().own->bank(link.sink().bank).cursors[index].publish(link.position(lane));
}

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

// SYNC(link.space), after one message: a fence for the last of kReceiptsPerFence receipts,
// whichever links they are for. SUBTLE: a sender that sleeps for want of space has missed fewer
// receipts than that. A fence shows it all of them, and a receiver that takes from this lane after
// it sees the space word; a lane of kReceiptsPerFence slots still holds such a message (space.pml).
// An agent that leaves looks for the last receipt itself (Leaving).
[[gnu::always_inline]] inline void SpaceRings::ring_sometimes(InLink& link) {
  const bool is_short = link.view().capacity(shm::Lane::kNormal) < kReceiptsPerFence;
  const bool is_wanted = link.view().control().space.relaxed_load() != 0;
  if (is_short || is_wanted || ++unfenced_ == kReceiptsPerFence) ring_for_space(link);
}

}  // namespace beeline::receive
