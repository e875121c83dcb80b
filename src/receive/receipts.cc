#include "src/receive/receipts.h"

#include "src/os/clock.h"

namespace beeline::receive {

void close_receipts(InLink& link) {
  if (link.sink().valid()) shm::close_bank(link.sink().own->bank(link.sink().bank));
  link.show_receipts_in({});
}

void SpaceRings::ring_for_space(InLink& link) {
  // SYNC(link.space): pairs with the fence of the sender between its space word and its last look
  // at the receipts.
  shm::full_fence();
  unfenced_ = 0;
  if (link.view().control().space.relaxed_load() == 0) return;
  link.ring_owner(os::coarse_ns());
}

// One fence for all of them.
void SpaceRings::ring_all_stamped() {
  shm::full_fence();  // SYNC(link.space): as above
  unfenced_ = unfenced_stamps_ = 0;
  for (InLink* const link : stamped_) {
    link->set_stamped(false);
    if (link->view().control().space.relaxed_load() != 0) link->ring_owner(os::coarse_ns());
  }
  stamped_.clear();
}

}  // namespace beeline::receive
