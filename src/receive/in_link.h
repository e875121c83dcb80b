#pragma once
// A link that another agent owns and this one reads: the receiver's private half.

#include <memory>
#include <string>
#include <vector>

#include <beeline/types.h>

#include "shm/lane.h"
#include "shm/strings.h"
#include "src/limit/token_bucket.h"
#include "src/segment/foreign.h"
#include "src/segment/owned.h"
#include "src/wake/bell.h"

namespace beeline::receive {

// Where this agent's receipts for the link go: a bank in its own link to the owner. Not owned;
// empty until there is one.
struct ReceiptSink {
  const shm::Link* own = nullptr;
  const segment::Owned* memory = nullptr;  // of `own`, to allocate stamps
  std::size_t bank = shm::kBanks;
  [[nodiscard]] bool valid() const { return bank != shm::kBanks; }
};

// The types that the engine acts on.
enum class KnownType : std::uint8_t { kOther, kEscalation, kCancel, kTaskResponse };

struct InLink {
  InLink(segment::Foreign segment, const shm::LinkContract& contract)
      : memory(std::move(segment)), view(memory.data(), contract) {}

  shm::LinkKey key;
  std::uint32_t owner_pid = 0;
  std::string owner_name;  // as the coordinator announced it
  // The owner's word in the directory; null while the coordinator has not said where it is.
  const shm::Atomic<std::uint64_t>* owner_place = nullptr;
  std::uint32_t owner_index = 0;         // of that word
  Relation relation = Relation::kOther;  // of the owner to this agent
  bool is_superior = false;              // the owner is above this agent in the tree
  std::uint64_t tree_epoch = 0;          // of the tree that says so
  std::vector<KnownType> known_types;    // of the strings that were looked at, number n at n - 1
  bool may_send = true;                  // false: only its receipts count
  segment::Foreign memory;
  shm::LinkView view;
  std::uint16_t row = 0;  // in the home
  std::uint64_t position[shm::kLanes] = {0, 0};
  bool has_old_stamps = false;        // our receipts for it began with the stamps of another life
  bool may_hear_others = false;       // its owner may still go by the receipts of a life before
  std::uint64_t reader_life = ~0ULL;  // our incarnation
  // Below it a message that we wait for may be written over: a life before ours has taken it.
  std::uint64_t taken_by_others[shm::kLanes] = {0, 0};
  std::int64_t seen_empty_ns = 0;  // when all taken was all there was; its opening at first
  std::int64_t known_since_ns = 0;
  // From then on a look goes to the end of the ordinary lane, see Reach. Ticks of the CPU.
  std::uint64_t end_due_ticks = 0;
  shm::VerifiedExtents verified;
  ReceiptSink sink;
  wake::Bell bell;              // of the owner, to ring when it waits for space
  InLink* older = nullptr;      // of the same pid's earlier life; drained before this one
  std::uint32_t live = 0;       // inbox entries whose payload, type or row is in this link
  bool owner_gone = false;      // the life that owns it has ended: needs no receipts
  bool fading = false;          // the coordinator was asked to let go of it
  const char* fault = nullptr;  // what its owner wrote that cannot be, null = nothing; see below
  bool reported = false;        // the coordinator was told of it
  std::uint64_t received = 0;
  std::shared_ptr<limit::TokenBucket> rate;  // of the normal lane, null = none; see Rates
  bool held_back = false;                    // the last look at it found messages and no token
  bool queued = false;                       // it found no room in the table; its turn comes
  std::size_t place = 0;                     // among the links of the receiver
  // Of OwnerWatch: where it stands there.
  std::size_t watch_place = 0;
  std::size_t called_place = 0;
  bool is_among_ended = false;
  bool is_called = false;

  // Its owner wrote what cannot be: nothing more is taken from it.
  [[nodiscard]] bool quarantined() const { return fault != nullptr; }
  // True when a message waits in the lane.
  [[nodiscard]] bool has_message(shm::Lane lane) const {
    const std::uint64_t at = position[static_cast<std::size_t>(lane)];
    return shm::is_published(view.slot(lane, at), at);
  }
  [[nodiscard]] bool has_message() const {
    return has_message(shm::Lane::kUrgent) || has_message(shm::Lane::kNormal);
  }
  // REQUIRES: a message waits in the ordinary lane. True when it is alone in both.
  [[nodiscard]] bool has_one_alone() const {
    const std::uint64_t next = position[static_cast<std::size_t>(shm::Lane::kNormal)] + 1;
    return !shm::is_published(view.slot(shm::Lane::kNormal, next), next) &&
           !has_message(shm::Lane::kUrgent);
  }
  // Asks for the payload of the next ordinary message, together with its header: both lines come at
  // once then, not one after the other.
  void prefetch_payload() const {
    shm::prefetch(view.slot(shm::Lane::kNormal, position[0]).payload);
  }
  // Asks for both lines of the slot that is so many places behind the next one.
  void prefetch_slot(shm::Lane lane, std::uint32_t ahead) const {
    const shm::Slot& slot = view.slot(lane, position[static_cast<std::size_t>(lane)] + ahead);
    shm::prefetch(slot);
    shm::prefetch(slot.payload);
  }
  // Asks for the lines of a payload in a slab, where they are few. REQUIRES: slab and length were
  // checked.
  [[gnu::noinline]] void prefetch_slab(std::uint32_t slab, std::uint32_t length) const {
    if (length > shm::kBytesAhead) return;
    const std::byte* const lines = view.slab(slab);
    for (std::uint32_t at = 0; at < length; at += shm::kCacheLine) shm::prefetch(lines[at]);
  }
  // What the engine knows a string as; nothing, where the message carries it: the sender keeps room
  // in the table for the types that the engine acts on. REQUIRES: number <= verified.strings, or
  // kCarriedText.
  [[nodiscard]] KnownType known_type(std::uint32_t number) {
    return number == 0 ? KnownType::kOther : look_up_type(number);
  }
  // Its owner rings a later life of ours, so that has been committed and takes what lies here, even
  // where nobody can tell us that we have ended. relaxed: to be looked at after has_message(),
  // whose observe has seen the word of whoever sent after it.
  [[nodiscard]] bool is_a_successors() const {
    return !owner_gone && view.control().watching.relaxed_load() > reader_life;
  }
  // Whether messages may be taken now. Who takes them has looked at has_message() before.
  [[nodiscard]] bool open() const {
    return may_send && !quarantined() && (sink.valid() || owner_gone) && !is_a_successors() &&
           !older_hold_messages();
  }
  // A life before ours may have taken from it, or takes still. Until its owner is seen to have
  // turned to us nobody knows how far; it has no more ids.
  void allow_for_others() {
    may_hear_others = true;
    for (std::uint64_t& taken : taken_by_others) taken = (1ULL << shm::kMessageCounterBits) - 1;
  }
  // Messages lie in it that are ours to take, now or later.
  [[nodiscard]] bool holds_messages() const {
    return may_send && !quarantined() && has_message() && !is_a_successors();
  }
  // Any of its owner's earlier lives has left some: there may be an empty one in between.
  [[nodiscard]] bool older_hold_messages() const {
    for (const InLink* link = older; link != nullptr; link = link->older) {
      if (link->holds_messages()) return true;
    }
    return false;
  }
  // Looks at the directory whether the life that owns it has ended: nothing will be added to it.
  void watch_owner();
  // Its owner hears no life before ours any more.
  [[nodiscard]] bool is_heard() const { return view.control().watching.observe() >= reader_life; }
  // Nothing will ever come from it again and nobody refers to it.
  [[nodiscard]] bool faded() const { return owner_gone && live == 0 && !holds_messages(); }

 private:
  [[nodiscard]] KnownType look_up_type(std::uint32_t number);
};

// The fault of a link whose owner is found at Extents::kLie.
inline constexpr const char* kLieAboutMemory = "it announces memory that it has not allocated";

enum class Extents : std::uint8_t {
  kVerified,
  kNotNow,  // this process or the machine lacks what it takes
  kLie,     // the owner has announced memory that it has not allocated
};

// Looks whether the owner has announced more memory since, and verifies it.
[[nodiscard]] Extents verify_extents(InLink& link);

// Makes sure that stamps can be stored in the link's bank. False when the system has no memory now.
[[nodiscard]] bool ensure_stamps(const ReceiptSink& sink);

}  // namespace beeline::receive
