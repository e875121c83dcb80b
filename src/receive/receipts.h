#pragma once
// The receiver's word to the owner of a link: how far its lanes are taken, and the ring for an
// owner that sleeps for want of space.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/receive/in_link.h"

namespace beeline::receive {

// One of this many messages that come alone is followed by a fence, in lanes of at least as many
// slots.
inline constexpr std::uint32_t kReceiptsPerFence = 4;
// One of this many stamps is followed by a fence while the agent has more messages.
inline constexpr std::uint32_t kStampsPerFence = 16;

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
  // The same after a slab was stamped. `may_wait`: the owner may be left to a later call or to
  // ring_stamped().
  void ring_after_stamp(InLink& link, bool may_wait);
  // Rings the owners that wait and were left to this call. Each drain begins with it.
  void ring_stamped() {
    if (!stamped_.empty()) ring_all_stamped();
  }

 private:
  void ring_all_stamped();

  std::uint32_t unfenced_ = 0;         // receipts since the last fence
  std::uint32_t unfenced_stamps_ = 0;  // stamps that were left to a later call
  std::vector<InLink*> stamped_{};     // their links, each once
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

// SYNC(link.space), after a stamp: a fence for the last of kStampsPerFence. SUBTLE: a sender that
// sleeps for want of a slab may have missed the stamps since the last fence, and no full lane
// brings its receiver back. So that receiver makes up for the fence before it drains, and it drains
// before it sleeps. With nothing more to finish it makes the fence at once (space.pml).
[[gnu::always_inline]] inline void SpaceRings::ring_after_stamp(InLink& link, bool may_wait) {
  const bool is_wanted = link.view().control().space.relaxed_load() != 0;
  const bool is_due = !may_wait || is_wanted || ++unfenced_stamps_ == kStampsPerFence;
  if (is_due && stamped_.empty()) return ring_for_space(link);
  if (!link.is_stamped()) {
    link.set_stamped(true);
    stamped_.push_back(&link);
  }
  if (is_due) ring_all_stamped();
}

}  // namespace beeline::receive
