#pragma once
// The send path: write header and payload into the next slot, publish, fence, look where the
// receiver is, ring it if it sleeps. No system call but that ring, no lock, and no allocation
// for a message that lies in its slot.

#include <functional>
#include <span>
#include <string_view>

#include "shm/directory.h"
#include "src/send/out_link.h"

namespace beeline::send {

// The fields of a message besides its payload.
struct Envelope {
  std::int32_t rank = shm::kRankNormal;
  std::string_view type{};
  std::string_view channel{};
  std::uint64_t reply_to = 0;
  std::uint32_t ttl_ms = 0;
  std::uint16_t hops = 0;
  const shm::Extension* extension = nullptr;  // null: there is nothing to say in one
  std::uint16_t flags =
      0;  // kFlagRequiresAck, kFlagCut ...; those of kExtendedFlags need an extension
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

// The envelope of a message without options, as kPlainSend says.
inline constexpr Envelope kPlainEnvelope{};

// A payload: bytes to copy, or those of a loan, which lie in the link already.
struct Parcel {
  std::span<const std::byte> bytes;
  shm::SlabPool::Loan* loan = nullptr;  // its slab is kNoSlab once the link has taken it over

  Parcel(
      std::span<const std::byte> all,  // NOLINT(google-explicit-constructor): most are just bytes
      shm::SlabPool::Loan* lent = nullptr)
      : bytes(all), loan(lent) {}
};

// Copies of messages, to parents and of broadcasts, are whole up to this many bytes.
inline constexpr std::size_t kMaxCopyBytes = 64U << 10;

// A message as it was sent to a sibling, for the copy to the parent.
struct Original {
  std::uint64_t id = 0;
  std::uint32_t to = 0;
  std::span<const std::byte> payload;
};

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
// The slot behind that of the last message which this thread has sent or flushed, copies
// for a parent left out; null before the first. Its link may be gone: for hints alone.
inline thread_local const void* next_slot_of_thread = nullptr;

// Asks for that slot, to be written. For calls after which probably something is sent at once: a
// receiver that waits has taken the lines of the slot away by looking at them, and looks again and
// again, so a line that is asked for earlier is gone when it is needed.
inline void prefetch_next_slot() {
  if (next_slot_of_thread != nullptr) shm::prefetch_for_write(next_slot_of_thread);
}

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

  // Sends or says why not; kFull may be tried again. `id` is from reserve_id(). A loan stays the
  // caller's unless the message was published: then the status is kOk, or kPeerDead where the
  // receiver was seen to be dead only then, and nobody will take it (OutLink::Counts::orphaned).
  [[nodiscard]] SendStatus send(OutLink& link, const Parcel& parcel, const Envelope& envelope,
                                std::uint64_t id);
  // The same with kPlainEnvelope.
  [[nodiscard]] SendStatus send_plain(OutLink& link, const Parcel& parcel, std::uint64_t id);

  // Shows a message between siblings to their parent through the link to it: low rank, whole up to
  // kMaxCopyBytes. Nobody is rung and nothing waits for it: it is dropped and counted once the lane
  // is half full, or half of the slabs that it needs.
  void send_copy(OutLink& parent, const Original& original, const Envelope& envelope);

  // Looks at the directory word of the receiver and follows it where it changed.
  void follow(OutLink& link);
  // When the last message was sent, or found not to go, on the coarse clock.
  [[nodiscard]] std::int64_t last_sent_ns() const { return last_sent_ns_; }
  // The place of the last message.
  [[nodiscard]] const SentPlace& last_place() const { return last_place_; }
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
  // The steps of send(), and all of them.
  [[gnu::always_inline]] [[nodiscard]] SendStatus pass(OutLink& link, const Parcel& parcel,
                                                       const Envelope& envelope, std::uint64_t id);
  [[gnu::always_inline]] void follow_place(OutLink& link);
  [[gnu::always_inline]] [[nodiscard]] SendStatus check(OutLink& link, shm::Lane lane,
                                                        bool control);
  // The header of a message that lies in its slot, sent at last_sent_ns_.
  [[gnu::always_inline]] [[nodiscard]] shm::MessageHeader head(const Parcel& parcel,
                                                               const Envelope& envelope,
                                                               std::uint64_t id, Names names);
  [[gnu::always_inline]] static void put(OutLink& link, shm::Lane lane,
                                         const shm::MessageHeader& header, std::uint64_t generation,
                                         const void* area);
  [[gnu::always_inline]] [[nodiscard]] SendStatus publish(OutLink& link, shm::Lane lane,
                                                          const shm::MessageHeader& header,
                                                          std::uint64_t generation,
                                                          const void* area);
  // The payload is a loan, which the link takes over.
  [[gnu::always_inline]] [[nodiscard]] SendStatus lend(OutLink& link, shm::Lane lane,
                                                       const Parcel& parcel,
                                                       const Envelope& envelope, std::uint64_t id,
                                                       Names names);
  [[gnu::always_inline]] static void name_slab(OutLink& link, const shm::SlabPool::Loan& loan,
                                               shm::MessageHeader& header);
  static void prefetch_next_slab(const OutLink& link, std::uint32_t slab, std::size_t length);
  // The rare steps: a look for receipts; the numbers of type and channel; a payload behind
  // an extension, one that is copied into a slab and goes as a loan, or one with texts in its slab.
  [[nodiscard]] static SendStatus find_space(OutLink& link, shm::Lane lane, bool control);
  [[nodiscard]] static SendStatus name(OutLink& link, const Envelope& envelope, Names& names);
  [[nodiscard]] SendStatus send_joined(OutLink& link, shm::Lane lane, const Parcel& parcel,
                                       const Envelope& envelope, std::uint64_t id, Names names);
  [[nodiscard]] SendStatus send_copied(OutLink& link, shm::Lane lane, const Parcel& parcel,
                                       const Envelope& envelope, std::uint64_t id, Names names);
  [[nodiscard]] SendStatus send_carrying(OutLink& link, shm::Lane lane, const Parcel& parcel,
                                         const Envelope& envelope, std::uint64_t id, Names names);
  // Puts a copy for a parent, with the extension of the envelope. False: no room is left.
  [[nodiscard]] bool put_copy(OutLink& parent, std::span<const std::byte> payload,
                              const Envelope& envelope);
  void retarget(OutLink& link, std::uint64_t word);
  // True when the receiver's place in the directory belongs to another agent now: the receiver is
  // dead.
  [[nodiscard]] bool place_was_given_away(const OutLink& link) const;

  IdSource ids_;
  FindLife find_life_;
  shm::DirectoryView directory_;
  std::int64_t last_sent_ns_ = 0;
  SentPlace last_place_;
};

}  // namespace beeline::send
