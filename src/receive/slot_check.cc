#include "src/receive/slot_check.h"

namespace beeline::receive {

namespace {

shm::SlotFault fault_of(const InLink& link, const shm::MessageHeader& header,
                        std::uint64_t generation) {
  return shm::check_head(header, generation, link.owner_pid(), link.view().layout(),
                         link.verified());
}

// The owner of the link may have announced more memory since.
Verdict look_closer(Entries& entries, InLink& link, const shm::MessageHeader& header,
                    std::uint64_t generation, shm::SlotFault fault) {
  if (fault == shm::SlotFault::kBadSlab || fault == shm::SlotFault::kBadString) {
    const Extents found = link.verify_extents();
    if (found == Extents::kNotNow) return Verdict::kNotNow;
    if (found == Extents::kLie) {
      entries.quarantine(link, kLieAboutMemory);
      return Verdict::kBad;
    }
    fault = fault_of(link, header, generation);
  }
  if (fault == shm::SlotFault::kNone) return Verdict::kGood;
  entries.quarantine(link, shm::to_string(fault));
  return Verdict::kBad;
}

}  // namespace

Verdict check(Entries& entries, InLink& link, const shm::MessageHeader& header,
              std::uint64_t generation) {
  const shm::SlotFault fault = fault_of(link, header, generation);
  return fault == shm::SlotFault::kNone ? Verdict::kGood
                                        : look_closer(entries, link, header, generation, fault);
}

}  // namespace beeline::receive
