#include "src/receive/receipts.h"

#include "src/os/clock.h"

namespace beeline::receive {

// SYNC(lane.receipt): release, pairs with LaneWriter::refresh(). After the home: a receipt never
// promises more than the home holds.
void publish_receipt(const InLink& link, std::size_t lane) {
  if (!link.sink.valid()) return;
  link.sink.own->bank(link.sink.bank).cursors[lane].publish(link.position[lane]);
}

void close_receipts(InLink& link) {
  if (link.sink.valid()) shm::close_bank(link.sink.own->bank(link.sink.bank));
  link.sink = {};
}

void SpaceRings::ring_for_space(InLink& link) {
  // SYNC(link.space): pairs with the fence of the sender between its space word and its last look
  // at the receipts.
  shm::full_fence();
  unfenced_ = 0;
  if (link.view.control().space.relaxed_load() == 0) return;
  static_cast<void>(wake::ring(link.bell, os::coarse_ns()));
}

// SYNC(link.space), after one message: a fence for the last of kReceiptsPerFence receipts,
// whichever links they are for. SUBTLE: a sender that sleeps for want of space has missed fewer
// receipts than that. A fence shows it all of them, and a receiver that takes from this lane after
// it sees the space word; a lane of kReceiptsPerFence slots still holds such a message (space.pml).
// An agent that leaves looks for the last receipt itself (AgentCore::detach).
void SpaceRings::ring_sometimes(InLink& link) {
  const bool is_short = link.view.capacity(shm::Lane::kNormal) < kReceiptsPerFence;
  const bool is_wanted = link.view.control().space.relaxed_load() != 0;
  if (is_short || is_wanted || ++unfenced_ == kReceiptsPerFence) ring_for_space(link);
}

}  // namespace beeline::receive
