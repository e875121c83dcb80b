#include "src/receive/in_link.h"

namespace beeline::receive {

namespace {

Extents extents_of(const Result<void>& done) {
  if (done) return Extents::kVerified;
  return segment::is_lie(done.error()) ? Extents::kLie : Extents::kNotNow;
}

Extents verify(InLink& link, std::uint64_t offset, std::uint64_t length) {
  return extents_of(link.memory.verify(offset, length));
}

// Verifies the slabs of a class up to `now`, each window by itself: what was verified is counted,
// should the next window fail.
Extents verify_slabs(InLink& link, std::size_t slab_class, std::uint32_t now) {
  const shm::LinkLayout& layout = link.view.layout();
  const shm::SlabClass& of = layout.classes[slab_class];
  std::uint32_t& known = link.verified.slabs[slab_class];
  while (known < now) {
    const std::uint32_t until = of.in_one_window ? now : known + 1;
    const auto opened = link.memory.open_window(link.view, of.first + known);
    if (!opened) return extents_of(opened);
    const Extents found = verify(link, layout.slabs[slab_class] + known * of.slab_bytes,
                                 (until - known) * of.slab_bytes);
    if (found != Extents::kVerified) return found;
    known = until;
  }
  return Extents::kVerified;
}

}  // namespace

Extents verify_extents(InLink& link) {
  const shm::LinkLayout& layout = link.view.layout();
  const auto& control = link.view.control();
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) {
    // SYNC(link.extents): acquire, pairs with the owner's publish after it allocated.
    const std::uint32_t now = control.slabs_allocated[c].observe();
    if (now > layout.classes[c].count) return Extents::kLie;
    const Extents found = verify_slabs(link, c, now);
    if (found != Extents::kVerified) return found;
  }
  // SYNC(link.strings): acquire, pairs with append_string().
  const std::uint32_t strings = control.string_count.observe();
  if (strings > shm::kMaxStrings) return Extents::kLie;
  if (strings > 0 && link.verified.strings == 0) {
    const Extents found = verify(link, layout.strings, shm::LinkLayout::kStringsBytes);
    if (found != Extents::kVerified) return found;
  }
  if (strings > link.verified.strings) link.verified.strings = strings;
  return Extents::kVerified;
}

// SYNC(directory.word): acquire; who sees the end of a life sees all that it sent.
void InLink::watch_owner() {
  if (owner_gone || owner_place == nullptr) return;
  const auto word = shm::AgentWord::unpack(owner_place->observe());
  owner_gone = word.state == shm::AgentState::kVacant || shm::has_ended(word, key.incarnation);
}

KnownType InLink::look_up_type(std::uint32_t number) {
  if (number == shm::kCarriedText) return KnownType::kOther;
  while (known_types.size() < number) {
    const auto copy = shm::read_string(view, static_cast<std::uint32_t>(known_types.size() + 1));
    const std::string_view text = copy.view();
    KnownType type = KnownType::kOther;
    if (text == kEscalation) type = KnownType::kEscalation;
    if (text == kCancelOrder) type = KnownType::kCancel;
    if (text == kTaskResponse) type = KnownType::kTaskResponse;
    known_types.push_back(type);
  }
  return known_types[number - 1];
}

bool ensure_stamps(const ReceiptSink& sink) {
  shm::ReceiptBank& bank = sink.own->bank(sink.bank);
  if (bank.stamps_ready.relaxed_load() != 0) return true;
  const std::uint64_t offset = sink.own->layout().stamp_offset(sink.bank);
  if (!sink.memory->allocate(offset, shm::LinkLayout::kStampRowBytes)) return false;
  for (std::uint32_t slab = 0; slab < shm::kMaxSlabs; ++slab) {
    sink.own->stamp(sink.bank, slab)
        .relaxed_store(0);  // the bank may have served another life before
  }
  bank.stamps_ready.publish(1);
  return true;
}

}  // namespace beeline::receive
