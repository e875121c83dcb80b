#include "src/receive/in_link.h"

namespace beeline::receive {

bool ensure_stamps(const ReceiptSink& sink) {
  shm::ReceiptBank& bank = sink.own->bank(sink.bank);
  if (bank.stamps_ready.relaxed_load() != 0) return true;
  const std::uint64_t offset = sink.own->layout().stamp_offset(sink.bank);
  if (!sink.memory->allocate(offset, shm::LinkLayout::kStampRowBytes)) return false;
  for (shm::SlabIndex slab(0); slab.value() < shm::kMaxSlabs; ++slab) {
    sink.own->stamp(sink.bank, slab)
        .relaxed_store(0);  // the bank may have served another life before
  }
  bank.stamps_ready.publish(1);
  return true;
}

}  // namespace beeline::receive
