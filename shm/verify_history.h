#pragma once
// The invariants of a history. REQUIRES: verify_header() found nothing.
//
//   history    each row lies where its position says, and none is newer than the one that is being
//              written;
//              every row below the head is there, but the oldest one, which may be written over
//              just now;
//              legal events, reasons and lengths

#include "shm/entry.h"
#include "shm/verify_header.h"

namespace beeline::shm {

[[nodiscard]] inline std::uint64_t ring_head_at(HistoryRing ring) {
  return HistoryLayout::kControl + offsetof(HistoryControl, rings) +
         static_cast<std::uint64_t>(ring) * sizeof(RingHead) + offsetof(RingHead, head);
}

[[nodiscard]] inline Finding verify_history_row(ByteView bytes, std::uint64_t at) {
  const auto row = bytes.load<HistoryRow>(at);
  const auto field = [at](std::size_t offset) { return at + offset; };
  if (auto finding = named("history.event", field(offsetof(HistoryRow, event)), row.event,
                           static_cast<std::uint64_t>(kLastHistoryEvent))) {
    return finding;
  }
  if (auto finding = at_most("history.reason", field(offsetof(HistoryRow, reason)), row.reason,
                             static_cast<std::uint64_t>(DeadReason::kCancelled))) {
    return finding;
  }
  if (auto finding = at_most("history.type", field(offsetof(HistoryRow, type_length)),
                             row.type_length, kHistoryTypeBytes)) {
    return finding;
  }
  if (auto finding = at_most("history.preview", field(offsetof(HistoryRow, preview_length)),
                             row.preview_length, kPreviewBytes)) {
    return finding;
  }
  if (auto finding =
          equal("history.row_reserved", field(offsetof(HistoryRow, reserved0)), row.reserved0, 0)) {
    return finding;
  }
  return equal("history.row_reserved", field(offsetof(HistoryRow, reserved1)), row.reserved1, 0);
}

// The row that lies in a slot of the ring, whichever it is.
[[nodiscard]] inline Finding verify_history_slot(ByteView bytes, HistoryRing ring,
                                                 std::uint64_t slot, std::uint64_t head,
                                                 Taken taken) {
  const std::uint64_t at = HistoryLayout::row_of(ring, slot);
  const std::uint64_t place = bytes.u64(at);
  // A running owner goes on while its segment is copied.
  const std::uint64_t newest = taken == Taken::kWhileLive ? kMaxPosition : head + 1;
  if (auto finding = at_most("history.row_place", at, place, newest)) return finding;
  if (place != 0) {
    if (auto finding = equal("history.row_place", at, (place - 1) % kHistoryRowCount, slot)) {
      return finding;
    }
    if (auto finding = verify_history_row(bytes, at)) return finding;
  }
  if (taken == Taken::kWhileLive) return std::nullopt;
  // The newest position below the head that this slot can have.
  const std::uint64_t behind = (head + kHistoryRowCount - 1 - slot) % kHistoryRowCount;
  if (behind >= head) return std::nullopt;  // never written, or just now
  const bool is_next = slot == head % kHistoryRowCount;
  if (is_next && (place == 0 || place == head + 1)) return std::nullopt;
  return equal("history.row_missing", at, place, head - behind);
}

[[nodiscard]] inline Finding verify_history(ByteView bytes, Taken taken) {
  constexpr std::uint64_t kControl = HistoryLayout::kControl;
  if (auto finding =
          all_zero("history.reserved", bytes, kControl + offsetof(HistoryControl, reserved),
                   sizeof(HistoryControl::reserved))) {
    return finding;
  }
  for (const HistoryRing ring : {HistoryRing::kSend, HistoryRing::kOwn}) {
    const std::uint64_t at = ring_head_at(ring);
    const std::uint64_t head = bytes.u64(at);
    if (auto finding = at_most("history.head", at, head, kMaxPosition)) return finding;
    if (auto finding = all_zero("history.reserved", bytes, at + 8, sizeof(RingHead::reserved))) {
      return finding;
    }
    for (std::uint64_t slot = 0; slot < kHistoryRowCount; ++slot) {
      if (auto finding = verify_history_slot(bytes, ring, slot, head, taken)) return finding;
    }
  }
  return std::nullopt;
}

}  // namespace beeline::shm
