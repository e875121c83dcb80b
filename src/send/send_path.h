#pragma once
// The send path: write header and payload into the next slot, publish, fence, look where the
// receiver is, ring it if it sleeps. No system call but that ring, no lock, and no allocation
// for a message that lies in its slot.

#include <functional>
#include <span>

#include "shm/directory.h"
#include "src/send/draft.h"
#include "src/send/out_link.h"

namespace beeline::send {

// Copies of messages, to parents and of broadcasts, are whole up to this many bytes.
inline constexpr std::size_t kMaxCopyBytes = 64U << 10;

// The lane and position of a message.
struct SentPlace {
  shm::Lane lane = shm::Lane::kNormal;
  std::uint64_t position = 0;
};

// Tells where a life of a peer is rung and which link of ours it reads receipts into; found by the
// agent.
struct PeerLife {
  wake::Bell bell;
  const shm::LinkView* link = nullptr;  // the peer's own link to us, null if it has not opened one
  bool known = false;
};
using FindLife = std::function<PeerLife(std::uint32_t pid, std::uint64_t incarnation)>;

// Rises with each message that this thread has sent, and with those of others that it has flushed
// (SharedSender). A receiver that puts off a look at its lanes does not put off one at messages
// that its own thread has sent, through whichever agent.
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
      // relaxed: the publish of the slot (publish_slot) keeps it before whatever shows an id of the
      // block; read by a successor after death.
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

  // The places of all links must be named again after it.
  void set_directory(const shm::DirectoryView& directory) { directory_ = directory; }
  // The receiver has this place in the directory, and the coordinator has given the link to this
  // life of it (0: to none yet). REQUIRES: index < shm::kMaxAgents.
  void set_place(OutLink& link, std::uint32_t index, std::uint64_t incarnation);

  // An id for a message that is not sent yet: a request registers it before it publishes.
  [[gnu::always_inline]] [[nodiscard]] std::uint64_t reserve_id() { return ids_.next(); }

  // Checks, fills and publishes, or says why not; kFull may be tried again. The draft has an id.
  // Its loan stays the caller's unless the message was published: then the status is kOk, or
  // kPeerDead where the receiver was seen to be dead only then, and nobody will take it
  // (OutLink::Counts::orphaned).
  // SUBTLE: by value, so that a caller's draft has no address and needs no memory.
  [[gnu::always_inline]] [[nodiscard]] SendStatus write(OutLink& link, Draft draft) {
    return draft.is_plain() ? write_plain(link, draft.payload, draft.id, draft.loan)
                            : write_any(link, draft);
  }
  // Shows a message between siblings, as it was written to one, to their parent through the link to
  // it: low rank, whole up to kMaxCopyBytes. Nobody is rung and nothing waits for it: it is dropped
  // and counted once the lane is half full, or half of the slabs that it needs.
  void write_copy(OutLink& parent, const Draft& original, std::uint32_t sibling);

  // Looks at the directory word of the receiver and follows it where it changed.
  void follow(OutLink& link);
  // When the last message was sent, or found not to go, on the coarse clock.
  [[nodiscard]] std::int64_t last_sent_ns() const { return last_sent_ns_; }
  // The place of the last message.
  [[nodiscard]] const SentPlace& last_place() const { return last_place_; }
  // The slot behind it; null before the first message. Its link may be gone: for hints alone.
  [[nodiscard]] const void* next_slot() const { return next_slot_; }
  // The agent has learnt of a life or a link of this peer: looks it up again.
  void refresh(OutLink& link);
  // The receiver is dead and has no place in the directory; this was its last life.
  void bury(OutLink& link, std::uint64_t last_life);

  // Before a sender blocks: sets the space word of the link, so that the receiver rings after it
  // has taken something. The word stays until nobody of this agent wants it any more.
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
  // Its steps, and all of them. SUBTLE: by value, as for write().
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
  // The slab is out with the message of this header.
  [[gnu::always_inline]] static void name_slab(OutLink& link, const shm::SlabPool::Loan& slab,
                                               shm::MessageHeader& header);
  static void prefetch_next_slab(const OutLink& link, std::uint32_t slab, std::size_t length);
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
