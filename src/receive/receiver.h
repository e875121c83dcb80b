#pragma once
// The receive path: drain links into the inbox table, commit, publish receipts; take in delivery
// order; finish.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/receive/drain.h"
#include "src/receive/lane_audit.h"
#include "src/receive/selection.h"

namespace beeline::receive {

class Receiver {
 public:
  explicit Receiver(std::unique_ptr<HomeMemory> home);
  Receiver(const Receiver&) = delete;  // its nouns know each other
  Receiver& operator=(const Receiver&) = delete;

  // ---- Its nouns ----
  [[nodiscard]] InLinks& links() { return entries_.links(); }
  [[nodiscard]] const InLinks& links() const { return entries_.links(); }
  [[nodiscard]] const Entries& entries() const { return entries_; }
  [[nodiscard]] Answers& answers() { return answers_; }
  [[nodiscard]] Kept& kept() { return kept_; }
  [[nodiscard]] LaneAudit& audit() { return audit_; }
  [[nodiscard]] HomeMemory& home() { return entries_.home(); }
  [[nodiscard]] const HomeMemory& home() const { return entries_.home(); }

  // ---- Links ----
  // Adds a link whose row is open already. Returns it; the receiver owns it.
  InLink& add(std::unique_ptr<InLink> link);
  // Forgets a faded link and closes its row and its bank. False, and nothing is done, while entries
  // of the inbox refer to it.
  bool remove(InLink& link);
  // Takes nothing more from a link in which its owner wrote something impossible. `fault` names it,
  // and lives for ever.
  void quarantine(InLink& link, const char* fault) { entries_.quarantine(link, fault); }
  // After a take-over: a sender may have been waiting for the messages that the predecessor took.
  void ring_all_for_space();

  // ---- Drain ----
  // See Drain.
  bool drain_turn(Reach reach = Reach::kToTheEnd) { return drain_.turn(reach); }
  bool drain_all() { return drain_.all(); }
  void drain_whole() { drain_.whole(); }
  bool drain_from(std::uint32_t pid) { return drain_.from(pid); }
  [[nodiscard]] bool was_cut_short() { return drain_.was_cut_short(); }
  [[nodiscard]] bool is_crowded() const { return drain_.is_crowded(); }
  static constexpr std::int64_t kNever = shm::kForEver;
  [[nodiscard]] std::int64_t next_token_ns() const { return drain_.next_token_ns(); }
  // See InLinks.
  [[nodiscard]] bool calls_for_turn() const { return links().calls_for_turn(); }
  [[nodiscard]] bool urgent_lanes_are_empty() const { return links().urgent_lanes_are_empty(); }
  [[nodiscard]] bool all_empty() const { return links().all_empty(); }
  [[nodiscard]] bool has_urgent() const {
    return home().inbox().critical() != 0 || links().has_urgent_lane();
  }
  // See CancelOrders.
  [[nodiscard]] bool is_searching() const { return orders_.is_searching(); }
  // See Intake. take_alone() reads the clock only where a message says that it was sent later.
  [[nodiscard]] bool lacks_room() const { return intake_.lacks_room(); }
  void tell_time(std::int64_t now_ns) { intake_.tell_time(now_ns); }
  // The coarse clock when something was last seen in a lane, or later; negative after a wait.
  [[nodiscard]] std::int64_t time() const { return intake_.time(); }
  void forget_time() { intake_.forget_time(); }
  void note_all_empty(std::int64_t now_ns) { intake_.note_all_empty(now_ns); }

  // ---- Take ----
  // The next entry in delivery order, leased, or kNoEntry. Expired and exhausted ones become dead
  // letters.
  [[nodiscard]] shm::EntryIndex take();
  // The message that waits alone in all lanes, leased; kNoEntry where there is none, more than one,
  // or one that is not simple (shm::HeaderWords) or answers a question of ours: drain_turn() and
  // take() see to those. REQUIRES: nothing is queued.
  [[nodiscard]] shm::EntryIndex take_alone();
  // The same of the answer that this request waits for, whatever is queued. The request is
  // forgotten then.
  [[nodiscard]] shm::EntryIndex take_alone(PendingReply& pending);
  [[nodiscard]] shm::EntryIndex take_selected(const Selection& selection);
  // Whether the answer of a pending request has come. One that has expired since is a dead letter
  // then, and the request waits on.
  [[nodiscard]] bool has_reply(PendingReply& pending);
  // Leases it. REQUIRES: has_reply(pending).
  shm::EntryIndex take_reply(PendingReply& pending);
  shm::EntryIndex take_word(PendingReply& pending);  // the same of pending.word
  // Stops expecting. An answer that comes later, or has come and was not taken, is stashed.
  void forget(PendingReply& pending);
  // Leases the oldest stashed answer, or kNoEntry.
  [[nodiscard]] shm::EntryIndex take_stashed_answer();
  // Leases the task that is to be done next, or kNoEntry.
  [[nodiscard]] shm::EntryIndex take_task() { return kept_.take_task(); }
  // Leases the oldest word about the task that this request is, or kNoEntry.
  [[nodiscard]] shm::EntryIndex take_report(PendingReply& pending);
  // Leases the acknowledgement of `from` for this message, or kNoEntry.
  [[nodiscard]] shm::EntryIndex take_stashed_ack(std::uint64_t id, std::uint32_t from);

  // ---- Finish a lease ----
  void done(shm::EntryIndex at) { entries_.done(at); }
  // See Entries.
  [[gnu::always_inline]] void done_of_many(shm::EntryIndex at) { entries_.done_of_many(at); }
  void requeue(shm::EntryIndex at, shm::Cost cost = shm::Cost::kAttempt) {
    kept_.requeue(at, cost);
  }
  void bury(shm::EntryIndex at, shm::DeadReason reason) { kept_.bury(at, reason); }

  // Messages that wait although their time to live is over become dead letters. A take needs none
  // of this: it meets an expired message on its way.
  void bury_expired();
  // The same for a caller that asks all the time and can do without the answer.
  void bury_expired_sometimes();

  // ---- Dead letters ----
  // Puts a dead letter back into the queue; its time to live and its hops count no more.
  void revive(shm::EntryIndex at) { home().inbox().revive(at); }
  // Lets a dead letter go.
  void purge_dead(shm::EntryIndex at) { entries_.purge_dead(at); }

  // ---- Take-over ----
  // Finds again the facts that only the entries hold.
  void adopt_entries() { intake_.adopt_entries(); }
  // Does the work that those ask for. REQUIRES: the take-over is committed.
  void settle_adopted();

  // ---- Look ----
  [[nodiscard]] const shm::Entry& entry(shm::EntryIndex at) const { return entries_.entry(at); }
  [[nodiscard]] std::span<const std::byte> payload(shm::EntryIndex at) const {
    return entries_.payload(at);
  }
  [[nodiscard]] InLink* link_of(shm::EntryIndex at) const { return entries_.link_of(at); }
  [[nodiscard]] bool is_cancelled(shm::EntryIndex at) const { return entries_.is_cancelled(at); }
  [[nodiscard]] std::uint32_t most_attempts() const { return entries_.most_attempts(); }

 private:
  // receive_alone.cc
  [[nodiscard]] InLink* only_link() const;
  template <typename Wanted>
  [[nodiscard]] shm::EntryIndex take_alone_if(Wanted&& wanted, std::uint16_t mark);

  Entries entries_;
  Expiry expiry_;
  Kept kept_;
  CancelOrders orders_;
  Answers answers_;
  LaneTurns turns_;
  Intake intake_;
  Drain drain_;
  LaneAudit audit_;
};

// Every message passes it: taken into its callers.
inline shm::EntryIndex Receiver::take() {
  shm::Inbox& inbox = home().inbox();
  for (;;) {
    const shm::EntryIndex at = inbox.take_best();
    if (at == shm::kNoEntry) return at;
    if (entry(at).in_slab()) entries_.prefetch_next_payload();  // so does the next one, probably
    if (entries_.is_surely_fit(entry(at)) || !kept_.drop_unfit(at)) return at;
  }
}

}  // namespace beeline::receive
