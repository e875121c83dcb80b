#pragma once
// A link that another agent owns and this one reads, with all that the receiver needs to know of
// its owner.

#include <memory>
#include <string>
#include <utility>

#include <beeline/types.h>

#include "shm/check.h"
#include "shm/entry.h"
#include "shm/ids.h"
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

// The life that owns a link, as the coordinator announced it.
struct LinkOwner {
  shm::LinkKey key;
  std::uint32_t pid = 0;
  std::string name;
};

class InLink : public LaneReader {
 public:
  // The link has no row yet. Its owner may send, and no relation of it is known.
  InLink(segment::Foreign memory, const shm::LinkContract& contract, LinkOwner owner)
      : LaneReader(std::move(memory), contract), owner_(std::move(owner)) {}

  // ---- The owner ----
  [[nodiscard]] const shm::LinkKey& key() const { return owner_.key; }
  [[nodiscard]] std::uint32_t owner_pid() const { return owner_.pid; }
  [[nodiscard]] const std::string& owner_name() const { return owner_.name; }
  // The relation of the owner to this agent.
  [[nodiscard]] Relation relation() const { return relation_; }
  // The owner is above this agent in the tree.
  [[nodiscard]] bool is_superior() const { return is_superior_; }
  void set_relation(Relation relation, bool is_superior) {
    BEELINE_CHECK(is_superior || (relation != Relation::kSystem && relation != Relation::kParent),
                  relation, owner_.pid);
    relation_ = relation;
    is_superior_ = is_superior;
  }
  // False: only its receipts count.
  [[nodiscard]] bool may_send() const { return may_send_; }
  void set_may_send(bool may_send) { may_send_ = may_send; }
  // The life that owns the link has ended: it needs no receipts.
  [[nodiscard]] bool owner_gone() const { return owner_gone_; }
  // InLinks::arrange() is to be called after a change.
  void set_owner_gone(bool gone) { owner_gone_ = gone; }
  // The place to ring the owner when it waits for space.
  void set_bell(const wake::Bell& bell) { bell_ = bell; }
  void ring_owner(std::int64_t now_ns) { (void)wake::ring(bell_, now_ns); }

  // ---- The word to the owner ----
  [[nodiscard]] const ReceiptSink& sink() const { return sink_; }
  // Receipts for the link go there from now on.
  void show_receipts_in(const ReceiptSink& sink) {
    BEELINE_CHECK(!sink.valid() || (sink.own != nullptr && sink.memory != nullptr), sink.bank);
    sink_ = sink;
  }
  // The rate of the ordinary lane, null = none; see Rates.
  [[nodiscard]] const std::shared_ptr<limit::TokenBucket>& rate() const { return rate_; }
  void limit_rate(std::shared_ptr<limit::TokenBucket> rate) { rate_ = std::move(rate); }

  // ---- The link among others ----
  // The row in the home, which the link keeps.
  [[nodiscard]] shm::RowIndex row() const { return row_; }
  void place_in_row(shm::RowIndex row) {
    BEELINE_CHECK(row_ == shm::kNoRow && row != shm::kNoRow, row_, row);
    row_ = row;
  }
  // The link of an earlier life of the same pid that is drained before this one.
  [[nodiscard]] InLink* older() const { return older_; }
  void wait_for(InLink* older) { older_ = older; }
  // The number of inbox entries that refer to the link: their payload, type or row is in it.
  [[nodiscard]] std::uint32_t live() const { return live_; }
  void refer() { ++live_; }
  void unrefer() {
    BEELINE_DCHECK(live_ != 0, owner_.pid, row_);
    --live_;
  }
  // The number of messages that came through it.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  void count_received(std::uint64_t count) { received_ += count; }
  // The last look at it found messages and no token.
  [[nodiscard]] bool is_held_back() const { return held_back_; }
  void set_held_back(bool held_back) { held_back_ = held_back; }
  // It found no room in the table; its turn comes.
  [[nodiscard]] bool is_queued() const { return queued_; }
  void set_queued(bool queued) { queued_ = queued; }
  // A slab of it was stamped, and no fence has followed yet; see SpaceRings.
  [[nodiscard]] bool is_stamped() const { return stamped_; }
  void set_stamped(bool stamped) { stamped_ = stamped; }
  // Its place in the table of links; see InLinks.
  [[nodiscard]] std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }
  [[nodiscard]] WatchPlace& watched() { return watched_; }

  // ---- Its end ----
  // The coordinator was asked to let go of it.
  [[nodiscard]] bool is_fading() const { return fading_; }
  void begin_fading() {
    BEELINE_CHECK(owner_gone_ && live_ == 0, owner_.pid, owner_.key.incarnation, live_);
    fading_ = true;
  }
  void stop_fading() { fading_ = false; }
  // The impossible thing that its owner wrote, null = nothing.
  [[nodiscard]] const char* fault() const { return fault_; }
  // `fault` lives for ever.
  void note_fault(const char* fault) {
    BEELINE_CHECK(fault_ == nullptr && fault != nullptr, owner_.pid, row_);
    fault_ = fault;
  }
  // Its owner wrote something impossible: nothing more is taken from it.
  [[nodiscard]] bool quarantined() const { return fault_ != nullptr; }

  // ---- Its messages ----
  // Its owner rings a later life of ours, so that has been committed and takes the messages of this
  // link, even where nobody can tell us that we have ended.
  [[nodiscard]] bool is_a_successors() const { return !owner_gone_ && is_turned_to_later_life(); }
  // Whether messages may be taken now. The caller has looked at has_message() before.
  [[nodiscard]] bool open() const {
    return may_send_ && !quarantined() && (sink_.valid() || owner_gone_) && !is_a_successors() &&
           !older_hold_messages();
  }
  // Messages lie in it that are ours to take, now or later.
  [[nodiscard]] bool holds_messages() const {
    return may_send_ && !quarantined() && has_message() && !is_a_successors();
  }
  // Any of its owner's earlier lives has left some: there may be an empty one in between.
  [[nodiscard]] bool older_hold_messages() const {
    for (const InLink* link = older_; link != nullptr; link = link->older_) {
      if (link->holds_messages()) return true;
    }
    return false;
  }
  // Nothing will ever come from it again and nobody refers to it.
  [[nodiscard]] bool faded() const { return owner_gone_ && live_ == 0 && !holds_messages(); }

 private:
  LinkOwner owner_;
  Relation relation_ = Relation::kOther;
  bool is_superior_ = false;
  bool may_send_ = true;
  bool owner_gone_ = false;
  bool held_back_ = false;
  bool queued_ = false;
  bool fading_ = false;
  bool stamped_ = false;
  shm::RowIndex row_ = shm::kNoRow;
  std::uint32_t live_ = 0;
  std::uint64_t received_ = 0;
  ReceiptSink sink_;
  const char* fault_ = nullptr;
  InLink* older_ = nullptr;
  std::shared_ptr<limit::TokenBucket> rate_;
  wake::Bell bell_;
  std::size_t place_ = 0;
  WatchPlace watched_;
};

// Makes sure that stamps can be stored in the link's bank. False when the system has no memory now.
[[nodiscard]] bool ensure_stamps(const ReceiptSink& sink);

}  // namespace beeline::receive
