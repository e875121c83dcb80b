#pragma once
// The two ends of a lane, as private state of the two processes.
//
//   sender    tail (private) ---- slot.commit ----> receiver
//   receiver  cursor: in its home first (the commit point of a drain), then as receipt in its own
//             link ----> sender
//
// No tail is stored anywhere: each slot says itself whether it holds the message of its position
// (docs/cache-lines.md, One pair of lines).

#include <algorithm>

#include "shm/link.h"

namespace beeline::shm {

// The sender's end. One thread. Zero positions are the start of a new link.
class LaneWriter {
 public:
  // True when a message can be written now. Reads the receipt only when the cached cursor says
  // full. `receipt` may be null: the opposite link does not exist yet, so the receiver has taken
  // nothing. `counts` as for refresh().
  template <typename Counts = Always>
  [[nodiscard]] bool has_space(std::uint32_t capacity, const Atomic<std::uint64_t>* receipt,
                               const Counts& counts = {}) {
    if (tail_ - cursor_ < capacity) return true;
    refresh(receipt, counts);
    return tail_ - cursor_ < capacity;
  }

  // Reads how far the receiver says it has taken messages. Returns false for a lie: a receipt
  // beyond the last message sent, or below an earlier receipt of the same bank; the sender ignores
  // it. If the receipt is new, calls `counts()` after reading it: false means that this receiver no
  // longer counts, and the receipt is ignored.
  // SYNC(lane.receipt): acquire, pairs with the publish of the receipt; the slot may be reused
  // after it.
  template <typename Counts = Always>
  bool refresh(const Atomic<std::uint64_t>* receipt, const Counts& counts = {}) {
    if (receipt == nullptr) return true;
    const std::uint64_t taken = receipt->observe();
    if (taken == heard_ || !counts()) return true;
    const bool is_possible = heard_ <= taken && taken <= tail_;
    if (!is_possible) {
      lied_to_ = true;
      return false;
    }
    heard_ = taken;
    if (taken > cursor_) cursor_ = taken;
    return true;
  }
  // True if a receipt was a lie since the last listen_to().
  [[nodiscard]] bool lied_to() const { return lied_to_; }
  // Follows this receipt from now on, and no other; null: there is none. The receipt of a new life
  // starts from its home, and the life before may have claimed more. The sender keeps the messages
  // that the new receipt does not cover, as far as they are not overwritten.
  void listen_to(const Atomic<std::uint64_t>* receipt, std::uint32_t capacity) {
    heard_ = 0;
    lied_to_ = false;
    if (receipt == nullptr || !refresh(receipt)) return;
    const std::uint64_t oldest = tail_ - std::min<std::uint64_t>(tail_, capacity);
    cursor_ = std::max(heard_, oldest);
  }

  [[nodiscard]] std::uint64_t tail() const { return tail_; }
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  void advance() { ++tail_; }
  void skip_to(std::uint64_t position) { tail_ = cursor_ = heard_ = position; }

 private:
  std::uint64_t tail_ = 0;    // position of the next message
  std::uint64_t cursor_ = 0;  // how far the receiver has taken messages, as we know
  std::uint64_t heard_ = 0;   // the last receipt that we read in the current bank
  bool lied_to_ = false;
};

// True if a sender may have stored this commit number in the slot where `position` is the next to
// be taken: nothing yet, the message itself, or one that was taken rounds ago. Any other number
// means that the sender overwrote a message that was not taken, or wrote at random.
[[nodiscard]] constexpr bool is_possible_commit(std::uint64_t commit, std::uint64_t position,
                                                std::uint32_t capacity) {
  return commit == 0 || (commit <= position + 1 && (position + 1 - commit) % capacity == 0);
}

// True if this commit number is that of a message which came rounds after the one at `position` and
// overwrote it.
[[nodiscard]] constexpr bool is_later_commit(std::uint64_t commit, std::uint64_t position,
                                             std::uint32_t capacity) {
  return commit > position + 1 && (commit - 1 - position) % capacity == 0;
}

// Number of published messages from `cursor` on: all that a tool or a successor can see of the
// tail.
template <typename T>
[[nodiscard]] std::uint64_t published_from(const BasicLink<T>& link, Lane lane,
                                           std::uint64_t cursor) {
  std::uint64_t count = 0;
  while (count < link.capacity(lane) &&
         is_published(link.slot(lane, cursor + count), cursor + count)) {
    ++count;
  }
  return count;
}

// Position of the first message from `at` on that was not overwritten, as far as `most` looks show
// it. A message that came rounds later tells of more than its own slot: its sender knew that all
// messages up to one ring before it were taken.
template <typename T>
[[nodiscard]] std::uint64_t skip_overwritten(const BasicLink<T>& link, Lane lane, std::uint64_t at,
                                             std::uint32_t most) {
  const std::uint32_t capacity = link.capacity(lane);
  for (; most > 0; --most) {
    const std::uint64_t commit = link.slot(lane, at).commit.relaxed_load();  // just a number
    if (!is_later_commit(commit, at, capacity)) break;
    at = commit - capacity;
  }
  return at;
}

enum class SlotFault : std::uint32_t {
  kNone = 0,
  kForeignId,  // the id does not carry the pid of the link's owner
  kBadLength,  // inline payload longer than a slot, or slab payload with its texts longer than its
               // slab
  kBadSlab,    // slab number out of range, or beyond what is allocated
  kBadFlags,   // a flag that no sender may set
  kBadString,  // type or channel beyond the strings of the link
  kBadTime,    // not a time
};

[[nodiscard]] constexpr const char* to_string(SlotFault fault) {
  switch (fault) {
    case SlotFault::kNone:
      return "none";
    case SlotFault::kForeignId:
      return "message id carries a foreign pid";
    case SlotFault::kBadLength:
      return "length beyond its slot or slab";
    case SlotFault::kBadSlab:
      return "slab out of range";
    case SlotFault::kBadFlags:
      return "unknown flag";
    case SlotFault::kBadString:
      return "type or channel out of range";
    case SlotFault::kBadTime:
      return "time is negative";
  }
  return "unknown fault";
}

// How much of a link's memory the receiver has verified so far.
struct VerifiedExtents {
  std::uint32_t strings = 0;
  std::array<std::uint32_t, kSlabClasses> slabs{};
};

// True if a message with this id can come from the owner.
[[nodiscard]] constexpr bool is_id_of(std::uint64_t id, std::uint32_t owner_pid) {
  return pid_of_message(id) == owner_pid && counter_of_message(id) != 0;
}

// Checks the place of a payload that lies in a slab. `length` includes the texts that it carries.
[[nodiscard]] inline SlotFault check_slab(SlabIndex slab, std::uint64_t length,
                                          std::uint64_t generation, const LinkLayout& layout,
                                          const VerifiedExtents& verified) {
  if (slab.value() >= layout.total_slabs() || generation == 0) return SlotFault::kBadSlab;
  const std::size_t slab_class = layout.class_of(slab);
  const SlabClass& size = layout.classes[slab_class];
  if (slab.value() - size.first >= verified.slabs[slab_class]) return SlotFault::kBadSlab;
  return length <= size.slab_bytes ? SlotFault::kNone : SlotFault::kBadLength;
}

// Checks a private copy of a slot's header against the contract and the verified extents. kBadSlab
// and kBadString may only mean that the sender has allocated more since: the caller verifies and
// asks again, once.
[[nodiscard]] inline SlotFault check_head(const MessageHeader& header, std::uint64_t generation,
                                          std::uint32_t owner_pid, const LinkLayout& layout,
                                          const VerifiedExtents& verified) {
  if (!is_id_of(header.id, owner_pid)) return SlotFault::kForeignId;
  if ((header.flags & ~kWireFlags) != 0) return SlotFault::kBadFlags;
  if ((header.flags & kExtendedFlags) != 0 && extension_bytes(header) == 0) {
    return SlotFault::kBadFlags;
  }
  if (header.sent_ns < 0) return SlotFault::kBadTime;
  const bool is_inline = (header.flags & kFlagSlab) == 0;
  for (const std::uint16_t number : {header.type, header.channel}) {
    if (number > verified.strings && (number != kCarriedText || is_inline)) {
      return SlotFault::kBadString;
    }
  }
  if (is_inline) {
    return header.length <= inline_room(header) && slab_of(header) == kNoSlab
               ? SlotFault::kNone
               : SlotFault::kBadLength;
  }
  return check_slab(slab_of(header), bytes_in_slab(header), generation, layout, verified);
}
// The fast check of a simple message. True: its words are sound. False: check_head() decides.
[[nodiscard]] inline bool is_sound_simple(const HeaderWords& words, std::uint32_t owner_pid,
                                          const LinkLayout& layout,
                                          const VerifiedExtents& verified) {
  if (!words.is_simple() || !is_id_of(words.id(), owner_pid) || words.sent_ns() < 0 ||
      words.type() > verified.strings || words.channel() > verified.strings) {
    return false;
  }
  if (!words.in_slab()) {
    const std::size_t room = words.is_extended() ? kInlineBytes - sizeof(Extension) : kInlineBytes;
    return words.length() <= room && words.slab() == kNoSlab;
  }
  return check_slab(words.slab(), words.length(), words.generation(), layout, verified) ==
         SlotFault::kNone;
}
[[nodiscard]] inline SlotFault check_slot(const SlotCopy& copy, std::uint32_t owner_pid,
                                          const LinkLayout& layout,
                                          const VerifiedExtents& verified) {
  return check_head(copy.header, copy.generation, owner_pid, layout, verified);
}

}  // namespace beeline::shm
