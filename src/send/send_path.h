#pragma once
// The send path: check, write header and payload into the next slot, publish, fence, look where the
// receiver is, ring it if it sleeps. It takes no lock. Its system calls are that ring, and memory
// for slabs and strings that are new. A message that lies in its slot needs no allocation.

#include <functional>
#include <span>

#include "shm/directory.h"
#include "src/send/draft.h"
#include "src/send/out_link.h"

namespace beeline::send {

// A copy for a parent, or a broadcast, carries at most this many bytes of the payload.
inline constexpr std::size_t kMaxCopyBytes = 64U << 10;

// The lane and position of a message.
struct SentPlace {
  shm::Lane lane = shm::Lane::kNormal;
  std::uint64_t position = 0;
};

// The place to ring a life of a peer, and the peer's own link to us, in which its receipts lie. The
// agent finds both.
struct PeerLife {
  wake::Bell bell;
  const shm::LinkView* link = nullptr;  // null: the peer has not opened it, or we do not know it
  bool known = false;                   // the agent can ring this life
};
using FindLife = std::function<PeerLife(std::uint32_t pid, shm::Incarnation incarnation)>;

// Rises with each message that this thread has sent, and with those of others that it has flushed
// (SharedSender). A receiver may postpone a look. It looks at once if its thread has sent something
// since, through any agent.
inline thread_local std::uint32_t sends_of_thread = 0;

// Message ids of one agent. Counters are reserved in the home in blocks, so a successor starts
// above all of them.
class IdSource {
 public:
  IdSource() = default;
  IdSource(std::uint32_t pid, shm::Atomic<std::uint64_t>& reserved)
      : pid_(pid), reserved_(&reserved), limit_(reserved.relaxed_load()), counter_(limit_) {}

  [[gnu::always_inline]] [[nodiscard]] std::uint64_t next() {
    if (counter_ >= limit_) {
      limit_ += kBlock;
      // relaxed: publish_slot() releases this store before any id of the block is visible. A
      // successor reads it.
      reserved_->relaxed_store(limit_);
    }
    ++counter_;
    if (shm::counter_of_message(counter_) == 0) ++counter_;  // 0 is no id
    return shm::make_message_id(pid_, counter_);
  }

 private:
  static constexpr std::uint64_t kBlock = 1ULL << 20;
  std::uint32_t pid_ = 0;
  shm::Atomic<std::uint64_t>* reserved_ = nullptr;
  std::uint64_t limit_ = 0;
  std::uint64_t counter_ = 0;
};

class SendPath {
 public:
  SendPath() = default;
  SendPath(std::uint32_t pid, shm::Atomic<std::uint64_t>& reserved_ids, FindLife find_life)
      : ids_(pid, reserved_ids), find_life_(std::move(find_life)) {}

  // Call set_place() for every link afterwards.
  void set_directory(const shm::DirectoryView& directory) { directory_ = directory; }
  // Says where the receiver's word lies, and to which of its lives the link was opened (0: to none
  // yet). REQUIRES: index < shm::kMaxAgents.
  void set_place(OutLink& link, std::uint32_t index, shm::Incarnation incarnation);

  // An id for a message that is not sent yet: a request registers it before it publishes.
  [[gnu::always_inline]] [[nodiscard]] std::uint64_t reserve_id() { return ids_.next(); }

  // Checks, fills, publishes and rings, or says why not; kFull may be tried again. The draft has an
  // id. Its loan stays the caller's unless the message was published: then the status is kOk, or
  // kPeerDead if the sender saw only after the publish that the receiver is dead. No agent takes
  // such a message (OutLink::Counts::orphaned).
  // SUBTLE: by value, so that a caller's draft has no address and needs no memory.
  [[gnu::always_inline]] [[nodiscard]] SendStatus write(OutLink& link, Draft draft) {
    return draft.is_plain() ? write_plain(link, draft.payload, draft.id, draft.loan)
                            : write_any(link, draft);
  }
  // Writes a copy of a message to a sibling into the link to the parent, with low rank and cut at
  // kMaxCopyBytes. It rings nobody and waits for nothing. It drops and counts the copy if the link
  // is closed or half full: half of the lane, or half of the slabs of the copy's size.
  void write_copy(OutLink& parent, const Draft& original, std::uint32_t sibling);

  // Looks at the directory word of the receiver and follows it where it changed.
  void follow(OutLink& link);
  // When the last message was sent or refused, on the coarse clock.
  [[nodiscard]] std::int64_t last_sent_ns() const { return last_sent_ns_; }
  // The place of the last message.
  [[nodiscard]] const SentPlace& last_place() const { return last_place_; }
  // The slot behind that place; null before the first message. For a prefetch alone, because its
  // link may be gone.
  [[nodiscard]] const void* next_slot() const { return next_slot_; }
  // Looks up the receiver's life again. The agent calls it when it has learnt of a life or a link.
  void refresh(OutLink& link);
  // The receiver is dead and has no place in the directory; this was its last life.
  void bury(OutLink& link, shm::Incarnation last_life);

  // Adds or removes a reason for the space word of the link. While there is one, the receiver rings
  // after it has taken something. A sender adds one before it blocks.
  static void want_space(OutLink& link, SpaceFor whom, bool wanted);

 private:
  // Type and channel as numbers in the table of the link; 0: none; kCarriedText: not in it.
  struct Names {
    std::uint16_t type = 0;
    std::uint16_t channel = 0;
    [[nodiscard]] bool are_carried() const {
      return type == shm::kCarriedText || channel == shm::kCarriedText;
    }
  };
  // write(), for each draft, and for a plain one in registers.
  [[nodiscard]] SendStatus write_any(OutLink& link, const Draft& draft);
  [[nodiscard]] SendStatus write_plain(OutLink& link, std::span<const std::byte> payload,
                                       std::uint64_t id, shm::SlabPool::Loan* loan);
  // All the steps of write(). SUBTLE: by value, as for write().
  [[gnu::always_inline]] [[nodiscard]] SendStatus take_steps(OutLink& link, Draft draft);
  [[gnu::always_inline]] void follow_place(OutLink& link);
  [[gnu::always_inline]] [[nodiscard]] SendStatus check(OutLink& link, const Draft& draft);
  // The header of a message that lies in its slot, sent at last_sent_ns_.
  [[gnu::always_inline]] [[nodiscard]] shm::MessageHeader head(const Draft& draft, Names names);
  [[gnu::always_inline]] static void put(OutLink& link, shm::Lane lane,
                                         const shm::MessageHeader& header, std::uint64_t generation,
                                         const void* area);
  [[gnu::always_inline]] [[nodiscard]] SendStatus publish(OutLink& link, shm::Lane lane,
                                                          const shm::MessageHeader& header,
                                                          std::uint64_t generation,
                                                          const void* area);
  // Writes the number of the slab into the header, and marks the slab as out.
  [[gnu::always_inline]] static void name_slab(OutLink& link, const shm::SlabPool::Loan& slab,
                                               shm::MessageHeader& header);
  // Prefetches the slab that the next payload of this size probably gets.
  static void prefetch_next_slab(const OutLink& link, shm::SlabIndex slab, std::size_t length);
  // The rare steps: a look for receipts; the numbers of type and channel.
  [[nodiscard]] static SendStatus find_space(OutLink& link, shm::Lane lane, bool control);
  [[nodiscard]] static SendStatus name(OutLink& link, const Envelope& envelope, Names& names);
  // A slab with the payload in it: the loan, a copy, or one that has the texts behind the payload.
  [[gnu::always_inline]] [[nodiscard]] static TakenSlab fill_slab(OutLink& link, const Draft& draft,
                                                                  Names names);
  [[nodiscard]] static TakenSlab fill_copy(OutLink& link, std::span<const std::byte> payload);
  [[nodiscard]] static TakenSlab fill_carrying(OutLink& link, Draft draft);
  // Puts a copy for a parent, with the extension of the envelope. False: no room is left.
  [[nodiscard]] bool put_copy(OutLink& parent, Draft copy);
  void retarget(OutLink& link, std::uint64_t word);
  // True when the receiver's place in the directory belongs to another agent now: the receiver is
  // dead.
  [[nodiscard]] bool place_was_given_away(const OutLink& link) const;

  IdSource ids_;
  FindLife find_life_;
  shm::DirectoryView directory_;
  std::int64_t last_sent_ns_ = 0;
  SentPlace last_place_;
  const void* next_slot_ = nullptr;
};

}  // namespace beeline::send
