#pragma once
// The invariants of a link. REQUIRES of every walker here: verify_header() found nothing and the
// segment is a link.
//
//   control   flags, counts within the contract
//   strings   a length byte that fits; string 0 is empty
//   banks     names unique, flags, cursors that are possible
//   lanes     commit numbers at their place in the ring; one contiguous window of at most
//             `capacity` positions; each slot in it is one that a receiver would accept
//
// The slot that the owner writes next holds the oldest message of the window, which was taken
// before. A kill may leave that slot half rewritten under its old commit number, so its content is
// judged only at rest.

#include "shm/lane.h"
#include "shm/verify_header.h"

namespace beeline::shm {

struct LaneShape {
  std::uint64_t offset = 0;
  std::uint64_t capacity = 0;
  [[nodiscard]] std::uint64_t slot_at(std::uint64_t position) const {
    return offset + (position & (capacity - 1)) * sizeof(Slot);
  }
};

[[nodiscard]] inline LaneShape lane_shape(const LinkContract& contract, const LinkLayout& layout,
                                          Lane lane) {
  return lane == Lane::kUrgent ? LaneShape{layout.urgent, contract.urgent_slots}
                               : LaneShape{layout.normal, contract.normal_slots};
}

// The position after the last published one, as the slots tell it; 0 for an empty lane.
[[nodiscard]] inline std::uint64_t tail_of(ByteView bytes, const LaneShape& lane) {
  std::uint64_t tail = 0;
  for (std::uint64_t i = 0; i < lane.capacity; ++i) {
    const std::uint64_t commit = bytes.u64(lane.slot_at(i));
    tail = commit > tail ? commit : tail;
  }
  return tail;
}

[[nodiscard]] inline bool holds(ByteView bytes, const LaneShape& lane, std::uint64_t position) {
  return bytes.u64(lane.slot_at(position)) == position + 1;
}

// A private copy of a slot, whatever it holds.
[[nodiscard]] inline SlotCopy slot_copy(ByteView bytes, std::uint64_t at) {
  static_assert(offsetof(SlotCopy, payload) == offsetof(Slot, payload) - offsetof(Slot, header));
  return bytes.load<SlotCopy>(at + offsetof(Slot, header));
}

// The extents that the owner says are allocated, cut to possible values.
[[nodiscard]] inline VerifiedExtents extents_of(ByteView bytes, const LinkLayout& layout) {
  VerifiedExtents extents;
  const std::uint32_t strings = bytes.u32(layout.control + offsetof(LinkControl, string_count));
  extents.strings = strings < kMaxStrings ? strings : kMaxStrings;
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    const std::uint32_t slabs =
        bytes.u32(layout.control + offsetof(LinkControl, slabs_allocated) + i * 4);
    extents.slabs[i] = slabs < layout.classes[i].count ? slabs : layout.classes[i].count;
  }
  return extents;
}

[[nodiscard]] inline Finding verify_link_control(ByteView bytes, const LinkLayout& layout) {
  const std::uint64_t space = layout.control + offsetof(LinkControl, space);
  const std::uint64_t strings = layout.control + offsetof(LinkControl, string_count);
  const std::uint64_t watching = layout.control + offsetof(LinkControl, watching);
  const std::uint64_t slabs = layout.control + offsetof(LinkControl, slabs_allocated);
  if (auto finding = at_most("link.space", space, bytes.u32(space), 1)) return finding;
  if (auto finding = at_most("link.string_count", strings, bytes.u32(strings), kMaxStrings)) {
    return finding;
  }
  if (auto finding = at_most("link.watching", watching, bytes.u64(watching), kMaxIncarnation)) {
    return finding;
  }
  for (std::size_t i = 0; i < kSlabClasses; ++i) {
    const std::uint64_t at = slabs + i * 4;
    if (auto finding =
            at_most("link.slabs_allocated", at, bytes.u32(at), layout.classes[i].count)) {
      return finding;
    }
  }
  for (std::uint64_t at = layout.control + offsetof(LinkControl, reserved0);
       at < layout.control + offsetof(LinkControl, reserved); at += 4) {
    if (auto finding = equal("link.reserved", at, bytes.u32(at), 0)) return finding;
  }
  return all_zero("link.reserved", bytes, layout.control + offsetof(LinkControl, reserved),
                  sizeof(LinkControl::reserved));
}

[[nodiscard]] inline Finding verify_strings(ByteView bytes, const LinkLayout& layout) {
  const std::uint32_t count = extents_of(bytes, layout).strings;
  for (std::uint32_t i = 0; i <= count; ++i) {
    const std::uint64_t at = layout.strings + i * kStringBytes;
    const std::uint64_t limit = i == 0 ? 0 : kStringBytes - 1;
    const auto length = bytes.load<std::uint8_t>(at);
    if (auto finding = at_most("link.string.length", at, length, limit)) return finding;
  }
  return std::nullopt;
}

[[nodiscard]] inline Finding verify_banks(ByteView bytes, const LinkLayout& layout) {
  const auto bank_at = [&](std::size_t i) { return layout.banks + i * sizeof(ReceiptBank); };
  const auto name_of = [&](std::uint64_t at) {
    return LinkKey{Incarnation(bytes.u64(at)), bytes.u32(at + offsetof(ReceiptBank, serial))};
  };
  for (std::size_t i = 0; i < kBanks; ++i) {
    const std::uint64_t at = bank_at(i);
    const LinkKey key = name_of(at);
    if (auto finding = at_most("bank.incarnation", at, key.incarnation.value(), kMaxIncarnation)) {
      return finding;
    }
    const std::uint64_t ready = at + offsetof(ReceiptBank, stamps_ready);
    if (auto finding = at_most("bank.stamps_ready", ready, bytes.u32(ready), 1)) return finding;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t cursor = at + offsetof(ReceiptBank, cursors) + lane * 8;
      if (auto finding = at_most("bank.cursor", cursor, bytes.u64(cursor), kMaxPosition)) {
        return finding;
      }
    }
    const std::uint64_t reserved = offsetof(ReceiptBank, reserved);
    if (auto finding =
            all_zero("bank.reserved", bytes, at + reserved, sizeof(ReceiptBank) - reserved)) {
      return finding;
    }
    for (std::size_t k = 0; k < i && key.incarnation != kNoIncarnation; ++k) {
      if (name_of(bank_at(k)) == key) return broken("bank.unique", at, i, k);
    }
  }
  return std::nullopt;
}

// A slot that a receiver would refuse, in words and numbers.
[[nodiscard]] inline Finding slot_finding(SlotFault fault, std::uint64_t at, const SlotCopy& copy,
                                          std::uint32_t owner_pid, const LinkLayout& layout,
                                          const VerifiedExtents& extents) {
  const MessageHeader& header = copy.header;
  const auto field = [at](std::size_t offset) { return at + offsetof(Slot, header) + offset; };
  const bool type_is_bad = header.type > extents.strings &&
                           (header.type != kCarriedText || (header.flags & kFlagSlab) == 0);
  switch (fault) {  // NEVER: check_slot() knows no other fault
    case SlotFault::kNone:
      return std::nullopt;
    case SlotFault::kForeignId:
      return broken("slot.id", field(offsetof(MessageHeader, id)), header.id,
                    make_message_id(owner_pid, 1));
    case SlotFault::kBadLength: {
      const bool in_slab = (header.flags & kFlagSlab) != 0;
      if (!in_slab && slab_of(header) != kNoSlab) {
        return broken("slot.slab", field(offsetof(MessageHeader, slab)), header.slab,
                      kNoSlab.value());
      }
      const std::uint64_t limit = in_slab
                                      ? layout.classes[layout.class_of(slab_of(header))].slab_bytes
                                      : inline_room(header);
      return broken("slot.length", field(offsetof(MessageHeader, length)),
                    in_slab ? bytes_in_slab(header) : header.length, limit);
    }
    case SlotFault::kBadSlab: {
      const std::uint64_t slab = field(offsetof(MessageHeader, slab));
      if (header.slab >= layout.total_slabs()) {
        return broken("slot.slab", slab, header.slab, layout.total_slabs() - 1);
      }
      if (copy.generation == 0) {
        return broken("slot.generation", at + offsetof(Slot, generation), 0, UINT64_MAX);
      }
      const std::size_t i = layout.class_of(slab_of(header));
      return broken("slot.slab_allocated", slab, header.slab - layout.classes[i].first + 1,
                    extents.slabs[i]);
    }
    case SlotFault::kBadFlags:
      return broken("slot.flags", field(offsetof(MessageHeader, flags)), header.flags, kWireFlags);
    case SlotFault::kBadString:
      return broken(
          "slot.string",
          field(type_is_bad ? offsetof(MessageHeader, type) : offsetof(MessageHeader, channel)),
          type_is_bad ? header.type : header.channel, extents.strings);
    case SlotFault::kBadTime:
      return broken("slot.time", field(offsetof(MessageHeader, sent_ns)),
                    static_cast<std::uint64_t>(header.sent_ns), INT64_MAX);
  }
  return broken("slot.fault", at, static_cast<std::uint64_t>(fault), 0);
}

// Commit numbers: each at its place, and all together one window.
[[nodiscard]] inline Finding verify_commits(ByteView bytes, const LaneShape& lane, Taken taken) {
  for (std::uint64_t i = 0; i < lane.capacity; ++i) {
    const std::uint64_t at = lane.slot_at(i);
    const std::uint64_t commit = bytes.u64(at);
    if (commit == 0) continue;
    if (auto finding = at_most("lane.commit.limit", at, commit, kMaxPosition)) return finding;
    if (((commit - 1) & (lane.capacity - 1)) != i) {
      return broken("lane.commit.place", at, (commit - 1) & (lane.capacity - 1), i);
    }
  }
  // A copy of a live lane is not of one instant: later slots may be rounds ahead of earlier ones.
  if (taken == Taken::kWhileLive) return std::nullopt;
  const std::uint64_t tail = tail_of(bytes, lane);
  bool ended = false;
  for (std::uint64_t back = 1; back <= lane.capacity && back <= tail; ++back) {
    const std::uint64_t position = tail - back;
    const std::uint64_t at = lane.slot_at(position);
    const std::uint64_t commit = bytes.u64(at);
    if (ended || commit != 0) {
      if (auto finding = equal("lane.window", at, commit, ended ? 0 : position + 1)) {
        return finding;
      }
    }
    ended = ended || commit == 0;
  }
  return std::nullopt;
}

// The messages of a lane. REQUIRES: verify_commits() found nothing.
[[nodiscard]] inline Finding verify_slots(ByteView bytes, const LinkLayout& layout,
                                          const LaneShape& lane, Taken taken) {
  const std::uint32_t owner_pid = bytes.u32(offsetof(SegmentHeader, owner_pid));
  const VerifiedExtents extents = extents_of(bytes, layout);
  const std::uint64_t tail = tail_of(bytes, lane);
  // SUBTLE: position `tail - capacity` shares its slot with position `tail`, which may be half
  // written.
  const std::uint64_t window = taken == Taken::kAtRest ? lane.capacity : lane.capacity - 1;
  const std::uint64_t first = tail > window ? tail - window : 0;
  std::uint64_t last_id = 0;
  for (std::uint64_t position = first; position < tail; ++position) {
    if (!holds(bytes, lane, position)) continue;
    const std::uint64_t at = lane.slot_at(position);
    const SlotCopy copy = slot_copy(bytes, at);
    const SlotFault fault = check_slot(copy, owner_pid, layout, extents);
    if (auto finding = slot_finding(fault, at, copy, owner_pid, layout, extents)) return finding;
    // Ids need not rise: if threads of one agent send at once, the later id may be published first.
    if (copy.header.id == last_id) {
      return broken("lane.ids_differ", at + offsetof(Slot, header), copy.header.id, last_id);
    }
    last_id = copy.header.id;
  }
  return std::nullopt;
}

[[nodiscard]] inline Finding verify_link(ByteView bytes, Taken taken) {
  const LinkContract contract = contract_of(bytes);
  const LinkLayout layout(contract);
  if (auto finding = verify_link_control(bytes, layout)) return finding;
  if (auto finding = verify_strings(bytes, layout)) return finding;
  if (auto finding = verify_banks(bytes, layout)) return finding;
  for (const Lane lane : {Lane::kUrgent, Lane::kNormal}) {
    const LaneShape shape = lane_shape(contract, layout, lane);
    if (auto finding = verify_commits(bytes, shape, taken)) return finding;
    if (auto finding = verify_slots(bytes, layout, shape, taken)) return finding;
  }
  return std::nullopt;
}

}  // namespace beeline::shm
