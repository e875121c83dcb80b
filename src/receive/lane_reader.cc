#include "src/receive/lane_reader.h"

#include "shm/handover.h"

namespace beeline::receive {

namespace {

Extents extents_of(const Result<void>& done) {
  if (done) return Extents::kVerified;
  return segment::is_lie(done.error()) ? Extents::kLie : Extents::kNotNow;
}

}  // namespace

Extents LaneReader::verify(std::uint64_t offset, std::uint64_t length) {
  return extents_of(memory_.verify(offset, length));
}

// Verifies the slabs of a class up to `now`, each window by itself: if the next window fails,
// the verified ones are counted.
Extents LaneReader::verify_slabs(std::size_t slab_class, std::uint32_t now) {
  const shm::LinkLayout& layout = view_.layout();
  const shm::SlabClass& of = layout.classes[slab_class];
  std::uint32_t& known = verified_.slabs[slab_class];
  while (known < now) {
    const std::uint32_t until = of.in_one_window ? now : known + 1;
    const auto opened = memory_.open_window(view_, shm::SlabIndex(of.first + known));
    if (!opened) return extents_of(opened);
    const Extents found =
        verify(layout.slabs[slab_class] + known * of.slab_bytes, (until - known) * of.slab_bytes);
    if (found != Extents::kVerified) return found;
    known = until;
  }
  return Extents::kVerified;
}

Extents LaneReader::verify_extents() {
  const shm::LinkLayout& layout = view_.layout();
  const auto& control = view_.control();
  for (std::size_t c = 0; c < shm::kSlabClasses; ++c) {
    // SYNC(link.extents): acquire, pairs with the owner's publish after it allocated.
    const std::uint32_t now = control.slabs_allocated[c].observe();
    if (now > layout.classes[c].count) return Extents::kLie;
    const Extents found = verify_slabs(c, now);
    if (found != Extents::kVerified) return found;
  }
  // SYNC(link.strings): acquire, pairs with append_string().
  const std::uint32_t strings = control.string_count.observe();
  if (strings > shm::kMaxStrings) return Extents::kLie;
  if (strings > 0 && verified_.strings == 0) {
    const Extents found = verify(layout.strings, shm::LinkLayout::kStringsBytes);
    if (found != Extents::kVerified) return found;
  }
  if (strings > verified_.strings) verified_.strings = strings;
  return Extents::kVerified;
}

KnownType LaneReader::look_up_type(std::uint32_t number) {
  if (number == shm::kCarriedText) return KnownType::kOther;
  while (known_types_.size() < number) {
    const auto copy = shm::read_string(view_, static_cast<std::uint32_t>(known_types_.size() + 1));
    const std::string_view text = copy.view();
    KnownType type = KnownType::kOther;
    if (text == kEscalation) type = KnownType::kEscalation;
    if (text == kCancelOrder) type = KnownType::kCancel;
    if (text == kTaskResponse) type = KnownType::kTaskResponse;
    known_types_.push_back(type);
  }
  return known_types_[number - 1];
}

// The messages of which the owner has heard from other lives were sent by now, and beyond that it
// writes over nothing.
void LaneReader::note_turn() {
  may_hear_others_ = false;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    taken_by_others_[static_cast<std::size_t>(lane)] = shm::published_ever(view_, lane);
  }
}

}  // namespace beeline::receive
