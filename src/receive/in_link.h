#pragma once
// A link that another agent owns and this one reads, with all that the receiver needs to know of
// its owner.

#include <memory>
#include <string>

#include <beeline/types.h>

#include "src/limit/token_bucket.h"
#include "src/receive/lane_reader.h"
#include "src/segment/owned.h"
#include "src/wake/bell.h"

namespace beeline::receive {

// The place of this agent's receipts for the link: a bank in its own link to the owner. Not owned;
// empty until there is one.
struct ReceiptSink {
  const shm::Link* own = nullptr;
  const segment::Owned* memory = nullptr;  // of `own`, to allocate stamps
  std::size_t bank = shm::kBanks;
  [[nodiscard]] bool valid() const { return bank != shm::kBanks; }
};

// The place of a link in the lists of OwnerWatch.
struct WatchPlace {
  std::size_t in_list = 0;
  std::size_t among_called = 0;
  bool is_among_ended = false;
  bool is_called = false;
};

struct InLink : LaneReader {
  using LaneReader::LaneReader;

  // ---- The owner ----
  shm::LinkKey key;
  std::uint32_t owner_pid = 0;
  std::string owner_name;                // as the coordinator announced it
  Relation relation = Relation::kOther;  // of the owner to this agent
  bool is_superior = false;              // the owner is above this agent in the tree
  bool may_send = true;                  // false: only its receipts count
  bool owner_gone = false;               // the life that owns it has ended: needs no receipts
  wake::Bell bell;                       // of the owner, to ring when it waits for space
  ReceiptSink sink;
  std::shared_ptr<limit::TokenBucket> rate;  // of the normal lane, null = none; see Rates

  // ---- The link among others ----
  std::uint16_t row = 0;       // in the home
  InLink* older = nullptr;     // of the same pid's earlier life; drained before this one
  std::uint32_t live = 0;      // inbox entries whose payload, type or row is in this link
  std::uint64_t received = 0;  // messages
  bool held_back = false;      // the last look at it found messages and no token
  bool queued = false;         // it found no room in the table; its turn comes
  std::size_t place = 0;       // see InLinks
  WatchPlace watched;          // see OwnerWatch

  // ---- Its end ----
  bool fading = false;          // the coordinator was asked to let go of it
  const char* fault = nullptr;  // the impossible thing that its owner wrote, null = nothing

  // Its owner wrote something impossible: nothing more is taken from it.
  [[nodiscard]] bool quarantined() const { return fault != nullptr; }
  // Its owner rings a later life of ours, so that has been committed and takes the messages of this
  // link, even where nobody can tell us that we have ended.
  [[nodiscard]] bool is_a_successors() const { return !owner_gone && is_turned_to_later_life(); }
  // Whether messages may be taken now. The caller has looked at has_message() before.
  [[nodiscard]] bool open() const {
    return may_send && !quarantined() && (sink.valid() || owner_gone) && !is_a_successors() &&
           !older_hold_messages();
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
  // Nothing will ever come from it again and nobody refers to it.
  [[nodiscard]] bool faded() const { return owner_gone && live == 0 && !holds_messages(); }
};

// Makes sure that stamps can be stored in the link's bank. False when the system has no memory now.
[[nodiscard]] bool ensure_stamps(const ReceiptSink& sink);

}  // namespace beeline::receive
