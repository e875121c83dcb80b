#pragma once
// A link that this agent owns, with the sender's private half: tails, free slabs, interned strings,
// and where the receiver is found.

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/result.h>
#include <beeline/types.h>

#include "shm/check.h"
#include "shm/lane.h"
#include "shm/slab.h"
#include "src/limit/token_bucket.h"
#include "src/segment/owned.h"
#include "src/wake/bell.h"

namespace beeline::send {

// The place of the receiver's receipts for this link: its own link to us. Not owned; empty until
// that link is known.
struct Receipts {
  const shm::LinkView* opposite = nullptr;
  std::size_t bank = shm::kBanks;
  bool stamps_ready = false;  // seen so: the word lies beside the cursors, which move all the time
  bool inherited = false;     // they go on from another life of the receiver
};

// Why the receiver is to ring once it has taken something from a full link; bits.
enum class SpaceFor : std::uint8_t {
  kWait = 1,   // a call that waits
  kDebts = 2,  // this agent owes messages to the receiver; no call waits
  kUser = 4,   // the user waits outside of the library
};

// A slab, or why there is none. SUBTLE: small enough for registers (docs/cache-lines.md, Store
// forwarding).
class TakenSlab {
 public:
  // NOLINTBEGIN(google-explicit-constructor): as of an expected
  TakenSlab(const shm::SlabPool::Loan& loan) : loan_(loan) {}
  TakenSlab(SendStatus why) : loan_{shm::kNoSlab, static_cast<std::uint64_t>(why)} {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const { return loan_.slab != shm::kNoSlab; }
  [[nodiscard]] const shm::SlabPool::Loan& operator*() const { return loan_; }
  [[nodiscard]] const shm::SlabPool::Loan* operator->() const { return &loan_; }
  // Why there is none.
  [[nodiscard]] SendStatus status() const {
    BEELINE_DCHECK(!*this, loan_.slab);
    return static_cast<SendStatus>(loan_.generation);
  }

 private:
  shm::SlabPool::Loan loan_;
};
static_assert(sizeof(TakenSlab) == 16);

class OutLink {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t orphaned = 0;  // of these, published before the receiver was seen to be dead
    std::uint64_t copies_dropped = 0;  // that should have gone here, or of what went to a sibling
  };

  // The room in the link, as sends that found none have left it.
  struct Space {
    unsigned wanted_for = 0;     // of SpaceFor
    bool lacks_token = false;    // the last such send found no token, however much room there is
    std::uint64_t finished = 0;  // slabs that were seen to be free again
    std::optional<std::uint64_t> refused_at;  // room_seen() then; unset before the first
  };

  // Creates the segment. Errors: kNoMemory, kSystem.
  [[nodiscard]] static Result<OutLink> create(const std::string& hive, std::uint32_t owner,
                                              std::uint32_t peer, const shm::LinkKey& key,
                                              const shm::LinkContract& contract);

  [[nodiscard]] const shm::Link& view() const { return view_; }
  [[nodiscard]] const segment::Owned& memory() const { return memory_; }
  [[nodiscard]] const shm::LinkKey& key() const { return key_; }
  [[nodiscard]] std::uint32_t peer() const { return peer_; }
  [[nodiscard]] std::uint64_t max_payload() const { return view_.contract().max_payload_bytes; }

  // The receipt word of a lane, null while there are no receipts.
  [[nodiscard]] const shm::Atomic<std::uint64_t>* receipt(shm::Lane lane) const {
    if (receipts.bank == shm::kBanks) return nullptr;
    return &receipts.opposite->bank(receipts.bank).cursors[static_cast<std::size_t>(lane)];
  }

  // True when a message fits the lane; looks for receipts only when it seems full. The last quarter
  // of the urgent lane is for control messages.
  [[nodiscard]] bool has_space(shm::Lane lane, bool control) {
    std::uint32_t room = view_.capacity(lane);
    if (lane == shm::Lane::kUrgent && !control && room > 1) room -= std::max(1U, room / 4);
    return has_room(lane, room);
  }
  // The same of a share of the lane.
  [[nodiscard]] bool has_room(shm::Lane lane, std::uint32_t room) {
    return lanes[static_cast<std::size_t>(lane)].has_space(room, receipt(lane),
                                                           [this] { return still_counts(); });
  }

  // Finds the receiver's bank for this link after its link became known.
  void find_receipts();
  // The receipts of this life of the receiver count from now on, and those of no other.
  void turn_to(const shm::LinkView& opposite, shm::Incarnation incarnation);
  // Receipts of the life that was heard last do not count any more: its successor is taking over,
  // or has.
  void stop_listening() { receipts = {}; }
  // A receipt or a stamp in the bank that is named for this link cannot be true.
  [[nodiscard]] bool was_lied_to();
  // Takes over the receipts as they are now, and lets go of them: their owner has ended, and its
  // link fades.
  void drop_receipts();

  // A send has found no room, in what it has seen of receipts and stamps; or no token.
  void note_no_room() {
    space.lacks_token = false;
    space.refused_at = room_seen();
  }
  void note_no_token() { space.lacks_token = true; }
  // Another send may find room: since the last one that found none the receiver has taken or
  // finished something.
  [[nodiscard]] bool has_more_room();

  // A slab for `bytes`, adding memory where none is free, of the class that fits or of the next
  // one; and a little more memory where the class is in use all the time. Errors: kFull, kTooBig,
  // kNoMemory. `texts` more bytes are for texts, which are no part of the payload.
  [[nodiscard]] TakenSlab take_slab(std::uint64_t bytes, std::uint64_t texts = 0);
  // The same for a copy, which leaves half of its class to messages. Errors: kFull too then.
  [[nodiscard]] TakenSlab take_copy_slab(std::uint64_t bytes);
  // Frees the slabs of a class that the receiver has finished. False: none.
  bool collect_slabs(std::size_t slab_class);
  [[nodiscard]] std::byte* slab_bytes(const shm::SlabPool::Loan& loan) const {
    return view_.slab(loan.slab);
  }
  // How many bytes the slab of a loan has.
  [[nodiscard]] std::uint64_t size_of(const shm::SlabPool::Loan& loan) const {
    return view_.layout().classes[view_.layout().class_of(loan.slab)].slab_bytes;
  }

  // The number of a type or channel, interning it where it is new. kCarriedText when the table is
  // full; the types that the engine acts on always have a place. Errors: kTooBig, kNoMemory.
  // REQUIRES: not empty.
  [[nodiscard]] tl::expected<std::uint16_t, SendStatus> intern(std::string_view text);
  // The same for a copy, which leaves half of the table to messages.
  [[nodiscard]] tl::expected<std::uint16_t, SendStatus> intern_for_copy(std::string_view text);

  // The receiver has no process now.
  [[nodiscard]] bool is_away() const {
    if (place == nullptr) return false;
    return shm::AgentWord::unpack(place->observe()).state == shm::AgentState::kAway;
  }
  // Messages that the receiver has not taken, as far as its receipts say.
  [[nodiscard]] std::uint64_t not_taken();
  // The same without copies at the end of a lane: nobody waits until those are taken.
  [[nodiscard]] std::uint64_t still_awaited();
  // Nothing was ever sent in it: the segment may go with its owner. Messages that were
  // taken from it are no reason to keep it: the receiver's inbox refers to it until it is done, and
  // so does a successor's.
  [[nodiscard]] bool is_unused() const { return counts.sent == 0; }

  shm::LaneWriter lanes[shm::kLanes];
  std::uint64_t awaited[shm::kLanes] = {0, 0};  // position behind the last message that is no copy
  shm::SlabPool slabs;
  Receipts receipts;
  wake::Bell bell;               // of the life that `known_word` names, empty unless it runs
  std::uint64_t known_word = 0;  // directory word that bell and receipts follow
  // The life of the receiver that this link was opened to. 0: there was none, so all are heirs.
  std::optional<shm::Incarnation> first_life;
  std::uint32_t directory_index = 0;
  // The receiver's word in the directory; null while the coordinator has not said where it is.
  const shm::Atomic<std::uint64_t>* place = nullptr;
  bool may_send = true;     // false: only our receipts count
  bool ended = false;       // its reader has reported it, and takes nothing more from it
  std::string fault;        // as its reader reported it, if we were told
  bool needs_peer = false;  // the life that the directory names has not been announced to us yet
  bool dead = false;        // the receiver is finally dead
  bool copied = false;      // the receiver is a sibling: the parent sees our messages
  bool is_mute = false;     // a rule forbids the receiver to write to us
  Space space;
  Counts counts;
  limit::TokenBucket rate;  // our limit; the agent asks it

 private:
  OutLink(segment::Owned memory, const shm::LinkKey& key, std::uint32_t peer,
          const shm::LinkContract& contract);

  // Rises with everything that the receiver is seen to have taken or finished; a new life of it may
  // make it fall.
  [[nodiscard]] std::uint64_t room_seen() const {
    return lanes[0].cursor() + lanes[1].cursor() + space.finished;
  }
  // Calls it with each slab of a message that the receiver has not taken, as far as its receipts
  // said.
  template <typename Visit>
  void each_unread_slab(Visit&& visit) const;
  [[nodiscard]] std::bitset<shm::kMaxSlabs> unread_slabs() const;
  // Whether receipts that were just read are to be heard. Not where the directory has changed since
  // the sender looked at it: a successor may have begun to read before they were given, and has
  // the same messages as well.
  [[nodiscard]] bool still_counts() const;
  // Those of them that stamps may say are finished. Looks at the receipts: the stamps come after
  // it.
  [[nodiscard]] std::bitset<shm::kMaxSlabs> slabs_to_keep();
  // The bank that was found just now is that of a life which took over from another.
  void go_on_with_heir();
  // Whether there are stamps to look at.
  [[nodiscard]] bool find_stamps();
  // 0: not in the table yet.
  [[nodiscard]] std::uint16_t number_of(std::string_view text) const;
  // Adds no text to a table that has this many.
  [[nodiscard]] tl::expected<std::uint16_t, SendStatus> add(std::string_view text,
                                                            std::size_t most);
  // A slab of exactly this class. Errors: kFull, kNoMemory.
  [[nodiscard]] TakenSlab take_from(std::size_t slab_class);
  // Adds memory for more slabs of a class. False when all are there; an error when the system has
  // none.
  Result<bool> grow(std::size_t slab_class);
  void ease(std::size_t slab_class);

  segment::Owned memory_;
  shm::Link view_;
  shm::LinkKey key_;
  std::uint32_t peer_;
  std::vector<std::string> strings_;  // number n at n - 1
  struct Use {
    std::uint32_t collected = 0;  // so often
    std::int64_t since_ns = 0;    // since then, on the coarse clock
  };
  std::array<Use, shm::kSlabClasses> use_{};
};

}  // namespace beeline::send
