#pragma once
// One message in an inbox: 128 bytes, written by the owner of the home alone.
//
//         put           take           done (stamp first)
//   free ------> queued ------> leased --------------------> free
//                 ^  ^            | |
//                 |  +--requeue---+ | bury
//                 |                 v
//                 +-----revive---- dead ------------------> free
//                                        purge (stamp first)
//
// Every transition is one 64-bit store of `state`, so a kill always leaves one of the states above.
// A queued entry with a position at or beyond the cursor of its row was put but not committed: a
// successor ignores it. Zero means free.

#include <cstring>

#include "shm/check.h"
#include "shm/ids.h"
#include "shm/slot.h"

namespace beeline::shm {

enum class EntryState : std::uint8_t { kFree = 0, kQueued = 1, kLeased = 2, kDead = 3 };

[[nodiscard]] constexpr const char* to_string(EntryState state) {
  switch (state) {
    case EntryState::kFree:
      return "free";
    case EntryState::kQueued:
      return "queued";
    case EntryState::kLeased:
      return "leased";
    case EntryState::kDead:
      return "dead";
  }
  return "unknown";
}

enum class DeadReason : std::uint8_t {
  kNone = 0,
  kRejected = 1,
  kExpired = 2,
  kExhausted = 3,     // too many attempts
  kReceiverDead = 4,  // the receiver is finally dead; the coordinator has taken the message over
  kRevoked = 5,       // no code stores it
  kLoop = 6,          // more hops than allowed
  kUnclaimed = 7,     // an answer that no call waited for or fetched
  kCancelled = 8,     // its sender took it back
};

[[nodiscard]] constexpr const char* to_string(DeadReason reason) {
  switch (reason) {
    case DeadReason::kNone:
      return "none";
    case DeadReason::kRejected:
      return "rejected";
    case DeadReason::kExpired:
      return "expired";
    case DeadReason::kExhausted:
      return "exhausted";
    case DeadReason::kReceiverDead:
      return "receiver_dead";
    case DeadReason::kRevoked:
      return "revoked";
    case DeadReason::kLoop:
      return "loop";
    case DeadReason::kUnclaimed:
      return "unclaimed";
    case DeadReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

inline constexpr DeadReason kLastReason = DeadReason::kCancelled;

inline constexpr RowIndex kNoRow(0xffff);

// state | attempts << 8 | row << 16 | low half of the position << 32
struct EntryWord {
  EntryState state = EntryState::kFree;
  // Leases that failed. A requeue at no cost is not counted. Stops at 255.
  std::uint8_t attempts = 0;
  RowIndex row;  // of the in-link
  std::uint32_t position = 0;

  [[nodiscard]] constexpr std::uint64_t pack() const {
    return static_cast<std::uint64_t>(state) | static_cast<std::uint64_t>(attempts) << 8 |
           static_cast<std::uint64_t>(row.value()) << 16 |
           static_cast<std::uint64_t>(position) << 32;
  }
  [[nodiscard]] static constexpr EntryWord unpack(std::uint64_t word) {
    return {static_cast<EntryState>(word & 0xff), static_cast<std::uint8_t>(word >> 8 & 0xff),
            RowIndex(static_cast<std::uint16_t>(word >> 16 & 0xffff)),
            static_cast<std::uint32_t>(word >> 32)};
  }
};

inline constexpr std::uint16_t kReasonShift = 12;  // DeadReason in the top bits of the flags

[[nodiscard]] constexpr std::uint16_t with_reason(std::uint16_t flags, DeadReason reason) {
  return static_cast<std::uint16_t>((flags & ~(0xf << kReasonShift)) | static_cast<unsigned>(reason)
                                                                           << kReasonShift);
}

struct Entry {
  Atomic<std::uint64_t> state;  // EntryWord
  std::uint64_t arrival;        // order in which this inbox took it; survives a hand-over
  // The receiver has bounded sent_ns, set its own rank and added its own flags.
  MessageHeader header;
  // The extension, if there is one, and the payload. If the payload lies in a slab: the slab's
  // generation and the extension.
  union {
    unsigned char payload[kInlineBytes];
    std::uint64_t generation;
  };

  [[nodiscard]] EntryWord word() const { return EntryWord::unpack(state.relaxed_load()); }
  [[nodiscard]] bool in_slab() const { return (header.flags & kFlagSlab) != 0; }
  [[nodiscard]] unsigned char* area() { return payload + (in_slab() ? sizeof(generation) : 0); }
  [[nodiscard]] const unsigned char* area() const {
    return payload + (in_slab() ? sizeof(generation) : 0);
  }
  [[nodiscard]] const unsigned char* inline_payload() const {
    BEELINE_DCHECK(!in_slab(), header.slab);
    return payload + extension_bytes(header);
  }
  // Zeros when the message carries none.
  [[nodiscard]] Extension extension() const {
    Extension copy{};
    if (extension_bytes(header) != 0) std::memcpy(&copy, area(), sizeof(copy));
    return copy;
  }
  // The message that led to it. An answer that names none was caused by the message that it
  // answers.
  [[nodiscard]] std::uint64_t cause() const {
    const std::uint64_t said = extension().cause;
    return said != 0 ? said : header.reply_to;
  }
  // True for a question: the receiver acknowledges it only if it did not answer it.
  [[nodiscard]] bool is_question() const {
    return (header.flags & kFlagRequiresAck) != 0 && extension().ack == 0;
  }
  // True for an acknowledgement of a question.
  [[nodiscard]] bool ends_question() const {
    return is_ack(header) && (extension().ack & kAckOfQuestion) != 0;
  }
  [[nodiscard]] MessageKind kind() const {
    return kind_of(header, area()[offsetof(Extension, kind)]);
  }
  // A task is in no order, and is never handed out as a message.
  [[nodiscard]] bool is_task() const {
    return (header.flags & kFlagStashed) != 0 && kind() == MessageKind::kTask;
  }
  [[nodiscard]] bool is_revived() const { return (header.flags & kFlagRevived) != 0; }
  [[nodiscard]] DeadReason reason() const {
    return static_cast<DeadReason>(header.flags >> kReasonShift);
  }
};
static_assert(sizeof(Entry) == kLinePair);
static_assert(offsetof(Entry, arrival) == 8);
static_assert(offsetof(Entry, header) == 16);
static_assert(offsetof(Entry, payload) == 64);

[[nodiscard]] inline Lane lane_of(const MessageHeader& header) {
  return (header.flags & kFlagUrgentLane) != 0 ? Lane::kUrgent : Lane::kNormal;
}

// True if the cursor of its lane has passed an entry, whatever its state says. Only the low half of
// a position is kept, so an entry that the cursor passed 2^32 positions ago looks like one ahead of
// it. The arrivals tell the two apart: an entry ahead lies less than a lane away and was among the
// last to arrive; an entry passed so long ago arrived long ago. `arrivals_since` = next_arrival of
// the home - arrival of the entry. It only grows while the entry lives, from one home to the next
// as well (inherit_counters()).
[[nodiscard]] constexpr bool lies_behind(const EntryWord& word, std::uint64_t cursor,
                                         std::uint64_t arrivals_since) {
  const std::uint32_t ahead = word.position - static_cast<std::uint32_t>(cursor);
  return ahead >= kMaxLaneSlots || arrivals_since > kMaxLaneSlots;
}

// False when the entry was put but not committed: it is still in its lane, and a successor takes it
// from there. Only a queued entry can be uncommitted.
[[nodiscard]] constexpr bool is_committed(const EntryWord& word, std::uint64_t cursor,
                                          std::uint64_t arrivals_since) {
  return word.state != EntryState::kQueued || lies_behind(word, cursor, arrivals_since);
}

}  // namespace beeline::shm
