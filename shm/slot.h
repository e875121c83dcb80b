#pragma once
// A slot of a lane: two adjacent cache lines, the header in the first and the small payload right
// behind it (docs/cache-lines.md, One pair of lines).
//
//   | commit | id | reply_to | sent | ttl rank length type channel flags hops slab | generation |
//   | 64 bytes of payload                                                                      |
//
// Written by: the sender. Read by: the one receiver of the link.
// `commit` holds position + 1 once the message at that position is complete, and another number
// before (0, or the number of the round before). The sender stores it last. The receiver copies
// everything else by atomic loads after it.

#include <array>
#include <bit>
#include <limits>

#include "shm/extension.h"
#include "shm/identity.h"
#include "shm/ids.h"
#include "shm/segment.h"
#include "shm/words.h"

namespace beeline::shm {

inline constexpr std::size_t kInlineBytes = 64;
inline constexpr SlabIndex kNoSlab(0xffffffff);
inline constexpr std::uint32_t kMaxLaneSlots = 1U << 16;

// Flags of a message. The first seven travel; the others belong to the receiver, and no sender may
// set them.
inline constexpr std::uint16_t kFlagSlab = 1 << 0;         // the payload lies in a slab of the link
inline constexpr std::uint16_t kFlagRequiresAck = 1 << 1;  // see kToldAlways
inline constexpr std::uint16_t kFlagExtended = 1 << 2;     // an Extension lies before the payload
inline constexpr std::uint16_t kFlagCopy = 1 << 3;     // a sibling's message, for the parent to see
inline constexpr std::uint16_t kFlagCut = 1 << 4;      // the payload is the start of a longer one
inline constexpr std::uint16_t kFlagAck = 1 << 5;      // says how the message in `reply_to` ended
inline constexpr std::uint16_t kFlagControl = 1 << 6;  // cancel, steer, shutdown: before all data
inline constexpr std::uint16_t kExtendedFlags = kFlagCopy | kFlagCut | kFlagAck;
inline constexpr std::uint16_t kWireFlags =
    kFlagSlab | kFlagRequiresAck | kFlagExtended | kExtendedFlags | kFlagControl;
inline constexpr std::uint16_t kFlagUnasked = 1 << 7;     // an answer, late or to no question
inline constexpr std::uint16_t kFlagUrgentLane = 1 << 8;  // it came through the urgent lane
inline constexpr std::uint16_t kFlagMatched =
    1 << 9;  // answers a request that waits for it; not in the index
// Not in the index: an answer that no call waits for, which is fetched by itself; an order to
// cancel a message that has not come yet; a copy that is dropped in this turn.
inline constexpr std::uint16_t kFlagStashed = 1 << 10;
inline constexpr std::uint16_t kFlagRevived = 1 << 11;  // was a dead letter, and was put back
inline constexpr std::uint16_t kUnindexedFlags = kFlagMatched | kFlagStashed;

// The flags of an answer that no call waits for any more.
[[nodiscard]] constexpr std::uint16_t unmatched(std::uint16_t flags) {
  if ((flags & kFlagMatched) == 0) return flags;
  return static_cast<std::uint16_t>((flags & ~kFlagMatched) | kFlagStashed);
}

enum class Lane : std::uint8_t { kNormal = 0, kUrgent = 1 };
inline constexpr std::size_t kLanes = 2;

struct MessageHeader {
  std::uint64_t id;        // make_message_id(sender, counter)
  std::uint64_t reply_to;  // id of the message that this one answers, 0 = none
  std::int64_t sent_ns;    // CLOCK_MONOTONIC_COARSE
  std::uint32_t ttl_ms;    // 0 = for ever
  std::int32_t rank;
  std::uint32_t length;   // payload bytes
  std::uint16_t type;     // string number in the link's table, 0 = "", or kCarriedText
  std::uint16_t channel;  // the same
  std::uint16_t flags;
  std::uint16_t hops;
  std::uint32_t slab;  // slab number in the link, kNoSlab = inline
};
static_assert(sizeof(MessageHeader) == 48);

// The slab of a message, kNoSlab where its payload lies inline.
[[nodiscard]] constexpr SlabIndex slab_of(const MessageHeader& header) {
  return SlabIndex(header.slab);
}

// The number of a type or channel that found no place in the link's table. Its text lies at the end
// of the slab that holds the payload: two strings as in the table, type and channel.
inline constexpr std::uint16_t kCarriedText = 0xffff;
inline constexpr std::size_t kCarriedBytes = 64;

[[nodiscard]] constexpr bool carries_text(const MessageHeader& header) {
  return header.type == kCarriedText || header.channel == kCarriedText;
}
// Bytes of its slab that a message uses. REQUIRES: it lies in a slab.
[[nodiscard]] constexpr std::uint64_t bytes_in_slab(const MessageHeader& header) {
  return std::uint64_t{header.length} + (carries_text(header) ? kCarriedBytes : 0);
}

inline constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

// When a message sent at this time expires, on the same clock.
[[nodiscard]] constexpr std::int64_t end_of_life(const MessageHeader& header,
                                                 std::int64_t sent_ns) {
  return header.ttl_ms == 0 ? kForEver : sent_ns + std::int64_t{header.ttl_ms} * 1'000'000;
}

[[nodiscard]] constexpr bool is_order(const MessageHeader& header) {
  return (header.flags & kFlagControl) != 0;
}
[[nodiscard]] constexpr bool is_copy(const MessageHeader& header) {
  return (header.flags & kFlagCopy) != 0;
}
[[nodiscard]] constexpr bool is_ack(const MessageHeader& header) {
  return (header.flags & kFlagAck) != 0;
}
static_assert(offsetof(MessageHeader, sent_ns) == 16);
static_assert(offsetof(MessageHeader, length) == 32);
static_assert(offsetof(MessageHeader, slab) == 44);

// Bytes of the payload area of a slot or an entry that the extension takes.
[[nodiscard]] constexpr std::size_t extension_bytes(const MessageHeader& header) {
  return (header.flags & kFlagExtended) != 0 ? sizeof(Extension) : 0;
}
// Largest payload that lies inline.
[[nodiscard]] constexpr std::size_t inline_room(const MessageHeader& header) {
  return kInlineBytes - extension_bytes(header);
}

// The kind of a message whose extension says this byte.
[[nodiscard]] constexpr MessageKind kind_of(const MessageHeader& header, std::uint8_t said) {
  constexpr std::uint16_t kOthers = kExtendedFlags | kFlagControl;
  const bool counts =
      extension_bytes(header) != 0 && header.ttl_ms != 0 && (header.flags & kOthers) == 0;
  return counts && said <= static_cast<std::uint8_t>(MessageKind::kTaskLog)
             ? static_cast<MessageKind>(said)
             : MessageKind::kOrdinary;
}

struct Slot {
  Atomic<std::uint64_t> commit;
  WordArray<6> header;               // MessageHeader
  Atomic<std::uint64_t> generation;  // of the slab
  WordArray<8> payload;
};
static_assert(sizeof(Slot) == kLinePair);
static_assert(offsetof(Slot, header) == 8);
static_assert(offsetof(Slot, generation) == 56);
static_assert(offsetof(Slot, payload) == 64);

// A private copy of a slot, taken word by word. The payload area: extension, inline payload.
struct SlotCopy {
  MessageHeader header;
  std::uint64_t generation;
  unsigned char payload[kInlineBytes];

  [[nodiscard]] const unsigned char* inline_payload() const {
    return payload + extension_bytes(header);
  }
};
static_assert(sizeof(SlotCopy) == 120);

[[nodiscard]] constexpr MessageKind kind_of(const SlotCopy& copy) {
  return kind_of(copy.header, copy.payload[offsetof(Extension, kind)]);
}
// The same of a published slot of which the header was copied.
[[nodiscard]] inline MessageKind kind_of(const Slot& slot, const MessageHeader& header) {
  constexpr std::size_t kAt = offsetof(Extension, kind);
  const std::uint64_t word = slot.payload.words[kAt / 8].relaxed_load();
  return kind_of(header, static_cast<std::uint8_t>(word >> 8 * (kAt % 8)));
}

// The header as it lies in a slot, composed in registers.
// SUBTLE: compose whole words (docs/cache-lines.md, Store forwarding).
[[nodiscard]] constexpr std::array<std::uint64_t, 6> to_words(const MessageHeader& header) {
  const auto pair = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
  return {header.id,
          header.reply_to,
          static_cast<std::uint64_t>(header.sent_ns),
          pair(header.ttl_ms, static_cast<std::uint32_t>(header.rank)),
          pair(header.length, header.type | static_cast<std::uint32_t>(header.channel) << 16),
          pair(header.flags | static_cast<std::uint32_t>(header.hops) << 16, header.slab)};
}
static_assert(std::endian::native == std::endian::little);

// The header of a published slot in registers: each word is read once, and the checks of a simple
// message look at whole words.
class HeaderWords {
 public:
  // relaxed: the caller has observed the commit number.
  [[gnu::always_inline]] explicit HeaderWords(const Slot& slot)
      : words_{slot.header.words[0].relaxed_load(), slot.header.words[1].relaxed_load(),
               slot.header.words[2].relaxed_load(), slot.header.words[3].relaxed_load(),
               slot.header.words[4].relaxed_load(), slot.header.words[5].relaxed_load()},
        generation_(slot.generation.relaxed_load()) {}

  [[nodiscard]] std::uint64_t id() const { return words_[0]; }
  [[nodiscard]] std::uint64_t reply_to() const { return words_[1]; }
  [[nodiscard]] std::int64_t sent_ns() const { return static_cast<std::int64_t>(words_[2]); }
  [[nodiscard]] std::int32_t rank() const { return static_cast<std::int32_t>(words_[3] >> 32); }
  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(words_[4]); }
  [[nodiscard]] std::uint16_t type() const { return static_cast<std::uint16_t>(words_[4] >> 32); }
  [[nodiscard]] std::uint16_t channel() const {
    return static_cast<std::uint16_t>(words_[4] >> 48);
  }
  [[nodiscard]] std::uint16_t hops() const { return static_cast<std::uint16_t>(words_[5] >> 16); }

  [[nodiscard]] bool in_slab() const { return (words_[5] & kFlagSlab) != 0; }
  [[nodiscard]] SlabIndex slab() const {
    return SlabIndex(static_cast<std::uint32_t>(words_[5] >> 32));
  }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }  // of the slab

  // True if no flag changes how the receiver takes it: apart from its payload, its cause and the
  // message that it answers, it may only ask for an acknowledgement. It orders nothing and never
  // expires.
  [[nodiscard]] bool is_simple() const {
    constexpr std::uint64_t kSimple = kFlagSlab | kFlagExtended | kFlagRequiresAck;
    const bool lives_for_ever = static_cast<std::uint32_t>(words_[3]) == 0;
    return lives_for_ever && (words_[5] & 0xffff & ~kSimple) == 0;
  }
  [[nodiscard]] bool is_extended() const { return (words_[5] & kFlagExtended) != 0; }

  // Writes the header into the receiver's memory, with the receiver's own values of three fields.
  // SUBTLE: whole words (docs/cache-lines.md, Store forwarding).
  [[gnu::always_inline]] void store(MessageHeader& to, std::int64_t sent_ns, std::int32_t rank,
                                    std::uint16_t flags) const {
    const std::uint64_t life = static_cast<std::uint32_t>(words_[3]);
    const std::uint64_t words[6] = {words_[0],
                                    words_[1],
                                    static_cast<std::uint64_t>(sent_ns),
                                    life | std::uint64_t{static_cast<std::uint32_t>(rank)} << 32,
                                    words_[4],
                                    words_[5] | flags};
    auto* const target = reinterpret_cast<unsigned char*>(&to);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 6; ++i) std::memcpy(target + 8 * i, &words[i], 8);
  }

 private:
  std::uint64_t words_[6];
  std::uint64_t generation_;
};

// Bytes of the payload area that are in use, never more than there are.
[[nodiscard]] constexpr std::size_t used_bytes(const MessageHeader& header) {
  const std::size_t front = extension_bytes(header);
  if ((header.flags & kFlagSlab) != 0) return front;
  const std::size_t room = inline_room(header);
  return front + (header.length < room ? header.length : room);
}

// Writes a message into the slot of `position` and publishes it. REQUIRES: the receiver has taken
// the message that was there before; `area` has used_bytes(header) bytes: the extension if there is
// one, then the payload when it lies inline.
[[gnu::always_inline]] inline void publish_slot(Slot& slot, std::uint64_t position,
                                                const MessageHeader& header,
                                                std::uint64_t generation, const void* area) {
  // SUBTLE: no store of the new message may come before the caller's last load of the receipt. That
  // load was an acquire, which keeps these stores behind it. The payload is written first and the
  // line of `commit` in one go after it, because a receiver that looks meanwhile takes that line
  // away.
  slot.payload.store_bytes(area, used_bytes(header));
  slot.header.store(to_words(header));
  slot.generation.relaxed_store(generation);
  // SYNC(lane.commit): release, pairs with is_published(); the commit point of a send.
  slot.commit.publish(position + 1);
}

// SYNC(lane.commit): acquire, pairs with publish_slot().
[[nodiscard]] inline bool is_published(const Slot& slot, std::uint64_t position) {
  return slot.commit.observe() == position + 1;
}

// copy_head() copies the fields that the checks look at in a published slot. copy_area() then
// copies the payload area, only as far as the header says and never beyond the slot. Each word is
// read once.
inline void copy_head(const Slot& slot, SlotCopy& out) {
  slot.header.load_bytes(&out.header, sizeof(out.header));
  out.generation = slot.generation.relaxed_load();
}
inline void copy_area(const Slot& slot, SlotCopy& out) {
  slot.payload.load_bytes(out.payload, used_bytes(out.header));
}
inline void copy_slot(const Slot& slot, SlotCopy& out) {
  copy_head(slot, out);
  copy_area(slot, out);
}

}  // namespace beeline::shm
