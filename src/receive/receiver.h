#pragma once
// The receive path: drain links into the inbox table, commit, publish receipts; take in delivery
// order; finish.

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/receive/answers.h"
#include "src/receive/cancel_order.h"
#include "src/receive/home_memory.h"
#include "src/receive/in_link.h"
#include "src/receive/link_index.h"
#include "src/receive/owner_watch.h"
#include "src/receive/rank.h"
#include "src/receive/stash.h"

namespace beeline::receive {

// The type of a message as its receiver names it.
struct TypeText {
  char text[kSiblingTraffic.size() + shm::kMaxStringLength];
  unsigned char length = 0;
  [[nodiscard]] std::string_view view() const { return {text, length}; }
};

// A message that asked what becomes of it and was buried.
struct Refused {
  std::uint64_t id = 0;
  bool is_question = false;
  shm::DeadReason reason = shm::DeadReason::kNone;
};

// What a selective receive looks for; empty fields match everything.
struct Selection {
  std::uint32_t from = 0;
  std::string_view type{};
  std::string_view channel{};
  std::uint64_t reply_to = 0;
  bool oldest_first = false;  // of one agent in the order in which it sent, else by the clock
};

// How far a look goes in an ordinary lane. kShortOfTheEnd: of many messages it may leave the last
// few, which came in the last microseconds, so as not to get in the way of whoever writes the next.
enum class Reach : std::uint8_t { kToTheEnd, kShortOfTheEnd };

// Links that are looked at in every turn.
inline constexpr std::size_t kActiveLinks = 8;
inline constexpr std::size_t kSliceLinks = 32;  // of the others, each turn
// Messages of one lane that are drained at a time, for one store of each cursor: at most a 32nd of
// a large table, so that the other lanes get their turn.
[[nodiscard]] constexpr std::uint32_t drain_budget(std::uint32_t table_entries) {
  constexpr std::uint32_t kLeast = 32;
  constexpr std::uint32_t kMost = 128;
  return std::clamp(table_entries / 32, kLeast, kMost);
}

// Of so many messages that come alone one is followed by a fence, in lanes of at least as many
// slots.
inline constexpr std::uint32_t kReceiptsPerFence = 4;

class Receiver {
 public:
  explicit Receiver(std::unique_ptr<HomeMemory> home);

  // ---- Links ----
  // Adds a link whose row is open already. Returns it; the receiver owns it.
  InLink& add(std::unique_ptr<InLink> link);
  [[nodiscard]] InLink* find(const shm::LinkKey& key) { return index_.find(key); }
  [[nodiscard]] const std::vector<std::unique_ptr<InLink>>& links() const { return links_; }
  [[nodiscard]] const LinkIndex& index() const { return index_; }
  [[nodiscard]] OwnerWatch& owners() { return owners_; }
  // A link is looked at in each look, unless its owner has ended and nothing is left in it; in each
  // turn, unless its owner has ended and left nothing urgent. To be called where that changes.
  void arrange(InLink& link);
  // How many links were visited where not all are: what a test bounds.
  [[nodiscard]] std::uint64_t visits() const { return visits_; }
  void count_visits(std::size_t links) { visits_ += links; }
  // At least one link is quarantined.
  [[nodiscard]] bool has_quarantined() const { return quarantined_ != 0; }
  // Forgets a faded link and closes its row and its bank. False, and nothing is done, while entries
  // of the inbox refer to it.
  bool remove(InLink& link);
  // Where its next urgent message will lie has changed.
  void watch_urgent(const InLink& link);
  // Shows no more receipts for a link: its owner has ended and nothing is left to take. Slabs that
  // are finished later need no stamp.
  void close_receipts(InLink& link);

  // ---- Drain ----
  // One turn over the links: recently active ones, those where something urgent lies, and a slice
  // of the others. True when something was taken.
  bool drain_turn(Reach reach = Reach::kToTheEnd);
  // False where a turn would hardly find anything: a few loads, for whoever looks all the time.
  [[nodiscard]] bool calls_for_turn() const;
  // All links.
  bool drain_all();
  // The same to where their lanes end now, as far as the table has room.
  void drain_whole();
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }  // links, in each look
  // More than a turn looks at.
  [[nodiscard]] bool has_many_links() const { return looked_at_ > kActiveLinks + kSliceLinks; }
  // Those of one agent, whichever of its lives owns them.
  bool drain_from(std::uint32_t pid);
  // Orders to cancel are still looking for their messages: the next turns go on with it.
  [[nodiscard]] bool is_searching() const;
  // The last audit has not come to the end of what was written over: the next one goes on with it.
  [[nodiscard]] bool is_skipping() const { return skipping_; }
  // No lane holds a message.
  [[nodiscard]] bool all_empty() const;
  // A lane holds a message that found no room in the table. True may be out of date.
  [[nodiscard]] bool lacks_room() const { return lacks_room_; }
  // The table has room for less than half of what a turn takes out of one lane; in a small one, for
  // less than a sixteenth of it.
  [[nodiscard]] bool is_crowded() const { return home_->inbox().plain_places() < few_places_; }
  [[nodiscard]] bool has_urgent() const;
  // False where a look at the lanes may find something urgent, or cannot be quick.
  [[nodiscard]] bool urgent_lanes_are_empty() const;
  // Whether a lane may have held more than one turn takes, since this was asked last.
  [[nodiscard]] bool was_cut_short() { return std::exchange(cut_short_, false); }
  // When a link that is held back by its rate has its next token, on the coarse clock; kNever if
  // there is none.
  static constexpr std::int64_t kNever = shm::kForEver;
  [[nodiscard]] std::int64_t next_token_ns() const;
  // The coarse clock, from whoever has just read it: take_alone() reads it only where a message
  // says that it was sent later. Who blocks makes it forget the time.
  void tell_time(std::int64_t now_ns) { clock_ns_ = now_ns; }
  void forget_time() { clock_ns_ = kNoTime; }
  // Every lane was empty after this time: no message that comes later was sent before it.
  void note_all_empty(std::int64_t now_ns);
  // After a take-over: a sender may have been waiting for what the predecessor took.
  void ring_all_for_space();

  // ---- Take ----
  // The next entry in delivery order, leased, or kNoEntry. Expired and exhausted ones become dead
  // letters.
  [[nodiscard]] std::uint32_t take();
  // The message that waits alone in all lanes, leased; kNoEntry where there is none, more than one,
  // or one that is not simple (shm::HeaderWords) or answers a question of ours: drain_turn() and
  // take() see to those. REQUIRES: nothing is queued.
  [[nodiscard]] std::uint32_t take_alone();
  // The same of the answer that this request waits for, whatever is queued. The request is
  // forgotten then.
  [[nodiscard]] std::uint32_t take_alone(PendingReply& pending);
  [[nodiscard]] std::uint32_t take_selected(const Selection& selection);
  // All that match, in the order in which take_selected() would take them. Takes nothing.
  [[nodiscard]] std::vector<std::uint32_t> list(const Selection& selection) const;
  // Whether the answer of a pending request has come. One that has expired since is a dead letter
  // then, and the request waits on.
  [[nodiscard]] bool has_reply(PendingReply& pending);
  // Leases it. REQUIRES: has_reply(pending).
  std::uint32_t take_reply(PendingReply& pending);
  std::uint32_t take_word(PendingReply& pending);  // the same of pending.word

  // ---- Finish a lease ----
  void done(std::uint32_t entry);
  void requeue(std::uint32_t entry, shm::Cost cost = shm::Cost::kAttempt);
  [[nodiscard]] std::uint32_t most_attempts() const { return home_->home().control().max_attempts; }
  [[nodiscard]] static bool has_expired(const shm::Entry& entry);  // taken, it is a dead letter
  void bury(std::uint32_t entry, shm::DeadReason reason);

  // Messages that wait although their time to live is over become dead letters
  // (receive_expired.cc).
  void bury_expired();
  // The same for whoever asks all the time and can do without the answer.
  void bury_expired_sometimes();

  // ---- Dead letters (receive_letters.cc) ----
  // The dead letter of this id, or kNoEntry.
  [[nodiscard]] std::uint32_t find_dead(std::uint64_t id) const;
  // Puts a dead letter back into the queue; its time to live and its hops count no more.
  void revive(std::uint32_t entry);
  // Lets a dead letter go.
  void purge_dead(std::uint32_t entry);

  // ---- Answers (receive_answers.cc) ----
  void expect(PendingReply& pending) { answers_.expect(pending); }
  // Stops expecting. An answer that comes later, or has come and was not taken, is stashed.
  void forget(PendingReply& pending);
  // The answers of `from` to this message are stashed, whenever they come. False: too many of its
  // kind are open.
  [[nodiscard]] bool stash_answers_to(std::uint64_t id, std::uint64_t alias, std::uint32_t from) {
    return answers_.open(id, alias, from);
  }
  // It was not sent, nobody wants its answer any more, or its receiver is finally dead.
  void withdraw_question(std::uint64_t id, std::uint32_t from) { answers_.withdraw(id, from); }
  void close_question(std::uint64_t id, std::uint32_t from) { answers_.close(id, from); }
  void forget_questions_to(std::uint32_t from) { answers_.forget(from); }
  // Leases the oldest stashed answer, or kNoEntry.
  [[nodiscard]] std::uint32_t take_stashed_answer();
  // Leases what `from` has said of this message, or kNoEntry.
  [[nodiscard]] std::uint32_t take_stashed_ack(std::uint64_t id, std::uint32_t from);

  [[nodiscard]] const Stash& stash() const { return stash_; }
  // Acknowledgements that were let go of because nobody fetched them.
  [[nodiscard]] std::uint64_t acks_unread() const { return acks_unread_; }

  // ---- Cancelling (receive_cancel.cc) ----
  // Its sender does not want the message any more. REQUIRES: it is leased.
  [[nodiscard]] bool is_cancelled(std::uint32_t at) const;
  // Messages that asked what becomes of them and were buried since the last call.
  [[nodiscard]] std::vector<Refused> take_refused();
  // If it asked what becomes of it, its sender is to be told.
  void refuse(std::uint32_t at, shm::DeadReason reason);

  // After a take-over: finds again what the entries say and no other table holds.
  void adopt_entries();
  // Does what those ask for. REQUIRES: the take-over is committed.
  void settle_adopted();

  // ---- Look ----
  [[nodiscard]] HomeMemory& home() { return *home_; }
  [[nodiscard]] const HomeMemory& home() const { return *home_; }
  [[nodiscard]] const shm::Entry& entry(std::uint32_t at) const { return home_->home().entry(at); }
  [[nodiscard]] std::span<const std::byte> payload(std::uint32_t at) const {
    const shm::Entry& found = entry(at);
    if (found.in_slab()) return slab_payload(at);
    return {reinterpret_cast<const std::byte*>(found.inline_payload()), found.header.length};
  }
  // Empty where it is not known; stays where it is for as long as the entry is kept.
  [[nodiscard]] std::string_view sender_name(std::uint32_t at) const;
  [[nodiscard]] TypeText type(std::uint32_t at) const;
  [[nodiscard]] shm::StringCopy channel(std::uint32_t at) const;
  [[nodiscard]] bool matches(std::uint32_t at, const Selection& selection) const;
  [[nodiscard]] static bool has_expired(const shm::MessageHeader& header, std::int64_t sent_ns);
  // When its time to live is over, on the coarse clock; kNever if it lives for ever.
  [[nodiscard]] static std::int64_t end_of_life(const shm::Entry& entry);
  // The link that it came through, null when that is gone.
  [[nodiscard]] InLink* link_of(std::uint32_t at) const;
  // Takes nothing more from a link whose owner wrote what cannot be. `fault` says what, and lives
  // for ever.
  void quarantine(InLink& link, const char* fault);
  // Quarantines links whose lanes hold numbers that no sender may have stored: a look at the next
  // slot of each lane, to be made now and then. In an inherited one they may be the work of a life
  // before ours that was fenced and still ran: it goes on with what is left. Of links whose owners
  // have ended only those that audit() is called for; true: it has not come to the end of it.
  void audit_lanes();
  bool audit(InLink& link);

 private:
  static void add_one(shm::Atomic<std::uint64_t>& counter) {
    counter.relaxed_store(counter.relaxed_load() + 1);
  }
  // receive_alone.cc
  [[nodiscard]] InLink* only_link() const;
  template <typename Wanted>
  [[nodiscard]] std::uint32_t take_alone_if(Wanted&& wanted, std::uint16_t mark);
  void ring_sometimes(InLink& link);
  // receive_drain.cc
  bool drain(InLink& link, std::uint32_t budget, Reach reach = Reach::kToTheEnd);
  bool drain_urgent();
  bool stop_looking(InLink& link);
  std::uint32_t drain_lane(InLink& link, shm::Lane lane, std::uint32_t budget, Reach reach);
  std::uint32_t put_run(InLink& link, shm::Lane lane, std::uint32_t run);
  std::uint32_t drain_merged(InLink& link, std::uint32_t budget, std::uint32_t normal_budget);
  [[nodiscard]] static std::uint32_t tokens_of(InLink& link, std::uint32_t budget);
  // Something urgent lies in a lane that is open.
  [[nodiscard]] bool has_urgent_lane() const;
  // Puts the next message of a lane into the table. False when there is none, no room, or the slot
  // is bad.
  bool put_next(InLink& link, shm::Lane lane);
  [[nodiscard]] bool is_simple(const InLink& link, const shm::HeaderWords& words) const;
  bool put_special(InLink& link, shm::Lane lane, const shm::Slot& slot, shm::HeaderWords words);
  // Before a checked message is put, which may lie in a slab. False: it could not be finished.
  [[nodiscard]] static bool prepare(const InLink& link, const shm::HeaderWords& words) {
    return !words.in_slab() || prepare_slab(link, words.slab(), words.generation());
  }
  [[nodiscard]] static bool prepare_slab(const InLink& link, std::uint32_t slab,
                                         std::uint64_t generation);
  // Of a message that is put where nothing is queued, and so is read next unless what comes with it
  // is more urgent.
  void prefetch_first(const InLink& link, const shm::HeaderWords& words) const {
    if (words.in_slab() && home_->inbox().queued() == 0) {
      link.prefetch_slab(words.slab(), words.length());
    }
  }
  // Of the message that is next in the order.
  void prefetch_next_payload() const;
  [[nodiscard]] std::int64_t time_sent(const InLink& link, std::int64_t said_ns) const;
  enum class Verdict : std::uint8_t { kGood, kNotNow, kBad };
  [[nodiscard]] Verdict check(InLink& link, const shm::MessageHeader& header,
                              std::uint64_t generation);
  [[nodiscard]] Verdict look_closer(InLink& link, const shm::MessageHeader& header,
                                    std::uint64_t generation, shm::SlotFault fault);
  [[nodiscard]] bool make_room(InLink& link, shm::Lane lane);
  static void note_turn(InLink& link);
  void audit_lane(InLink& link, shm::Lane lane);
  [[nodiscard]] bool skip_overwritten(InLink& link, shm::Lane lane);
  [[nodiscard]] shm::Room room_for_awaited(const InLink& link, shm::Lane lane) const;
  bool serve_queue();
  // receive_copies.cc
  [[nodiscard]] static bool may_show(const InLink& link, const shm::SlotCopy& copy);
  bool drop_copies();
  void drop_copy(std::uint32_t at);
  // What the receiver makes of a message that it has checked: rank, who may control whom.
  [[nodiscard]] std::int32_t rank_of(InLink& link, std::int32_t said, std::uint16_t type) const;
  void judge(InLink& link, shm::MessageHeader& header) const;
  [[nodiscard]] bool nobody_asked(InLink& link, std::uint64_t reply_to, std::uint16_t type) const;
  // Which of kUnindexedFlags it gets, and kFlagUnasked. `waiting` is set when somebody waits for
  // it.
  [[nodiscard]] std::uint16_t mark_for(InLink& link, const shm::SlotCopy& copy,
                                       std::int64_t sent_ns, PendingReply*& waiting);
  // Remembers what is to be done with an entry that was put, once it is committed.
  void note_put(std::uint32_t at, std::uint16_t mark);
  void keep_aside(std::uint32_t at);
  void put_aside(std::uint32_t at);
  void take_aside(std::uint32_t at);
  [[nodiscard]] bool has_to_settle() const;
  // Does it.
  void settle_put();
  // receive_cancel.cc
  [[nodiscard]] static bool is_cancel_order(InLink& link, const shm::MessageHeader& header);
  [[nodiscard]] static bool holds_order(InLink& link);
  [[nodiscard]] bool has_room_for_order(const InLink& link);
  bool obey_orders(std::uint32_t budget);
  void note_order_in_lane(InLink& link);
  void forget_order_in_lane(const InLink& link);
  bool obey(CancelOrder& order, std::uint32_t& budget);
  bool release_orders(shm::Room room);
  [[nodiscard]] bool is_scanned(const CancelOrder& order) const;
  [[nodiscard]] bool is_idle(const CancelOrder& order) const;
  [[nodiscard]] bool can_cancel(std::uint32_t at, std::uint64_t id) const;
  [[nodiscard]] bool is_dead(std::uint32_t at, std::uint64_t id) const;
  void cancel(std::uint32_t at);
  void finish_order(const CancelOrder& order);
  void take_off_lane(const CancelOrder& order);
  void keep_stash_bounded();
  [[nodiscard]] bool unstash(std::uint32_t at);
  [[nodiscard]] std::size_t most_stashed() const;
  void remember_asked(const PendingReply& pending);
  template <typename Wanted>
  [[nodiscard]] std::uint32_t take_stashed(Wanted&& wanted);
  [[nodiscard]] static std::optional<shm::Lane> next_in_order(const InLink& link);
  void commit(InLink& link, shm::Lane lane);
  static void publish_receipt(const InLink& link, std::size_t lane);
  void note_empty(InLink& link);
  void ring_for_space(InLink& link);
  [[nodiscard]] std::span<const std::byte> slab_payload(std::uint32_t at) const;
  [[nodiscard]] bool is_surely_fit(const shm::Entry& entry) const;
  [[nodiscard]] bool drop_unfit(std::uint32_t entry);
  [[nodiscard]] bool is_older(std::uint32_t a, std::uint32_t b, const Selection& selection) const;
  [[nodiscard]] std::uint32_t oldest(const Selection& selection) const;
  [[nodiscard]] shm::Atomic<std::uint64_t>* stamp_word(std::uint32_t at);
  void unrefer(std::uint32_t row);
  [[gnu::noinline, gnu::cold]] void note_unreferred(InLink& link) { owners_.call(link); }
  [[nodiscard]] std::uint32_t most_letters() const;
  void keep_dead_letters_bounded();
  void keep_slabs_bounded(std::uint32_t at);
  void discard(std::uint32_t at);
  void drop_surplus_letters();
  // Of these letters, oldest first, the one that goes first; kNoEntry if there is none.
  [[nodiscard]] std::uint32_t dispensable_letter(std::span<const std::uint32_t> letters) const;
  // Of whoever sent the most of these the one that comes first; kNoEntry if there is none.
  [[nodiscard]] std::uint32_t oldest_of_worst(std::span<const std::uint32_t> entries) const;
  [[nodiscard]] std::uint32_t sender_of(std::uint32_t at) const {
    return shm::pid_of_message(entry(at).header.id);
  }
  void note_life(std::uint32_t at);
  void move_to_front(std::size_t at);
  void swap_links(std::size_t a, std::size_t b);
  [[nodiscard]] auto end_of(std::size_t count) const {
    return links_.begin() + static_cast<std::ptrdiff_t>(count);
  }
  [[nodiscard]] shm::StringCopy string_of(std::uint32_t at, std::uint16_t number,
                                          shm::StringCopy shm::CarriedTexts::*carried) const;

  std::unique_ptr<HomeMemory> home_;
  // Those that something urgent may come from, recently active first; others that are looked at;
  // the rest.
  std::vector<std::unique_ptr<InLink>> links_;
  std::size_t watched_ = 0;    // so many are of the first kind
  std::size_t looked_at_ = 0;  // of the first two
  LinkIndex index_;
  OwnerWatch owners_;
  std::size_t quarantined_ = 0;  // of all links
  std::uint64_t visits_ = 0;
  std::vector<InLink*> rows_;  // by row
  // The next slot of each urgent lane, of the link at the same place: all that are looked at are
  // looked at in each turn, and so lie side by side.
  struct UrgentPlace {
    const shm::Slot* slot = nullptr;
    std::uint64_t position = 0;
  };
  std::vector<UrgentPlace> urgent_;
  Answers answers_;
  Stash stash_;
  std::vector<std::uint32_t> newly_stashed_;  // in the turn of a link that goes on
  std::vector<CancelOrder> orders_;           // oldest first; obeyed after their commit
  std::vector<std::uint32_t> unwanted_;  // copies of somebody who is no child; dropped likewise
  std::deque<InLink*> queue_;            // links that found no room, by when they did
  const InLink* served_ = nullptr;       // its turn has come in the queue
  std::vector<Refused> refused_;
  std::uint64_t acks_unread_ = 0;
  std::size_t slice_ = 0;
  std::uint32_t unfenced_ = 0;  // receipts since the last fence
  std::uint32_t spare_ = 0;     // ordinary messages of the batch for which there is room
  bool cut_short_ = false;      // see was_cut_short()
  bool lacks_room_ = false;     // see lacks_room()
  bool skipping_ = false;       // see is_skipping()
  std::int64_t all_empty_ns_ = 0;
  static constexpr std::int64_t kNoTime = -1;  // every message was sent later
  std::int64_t clock_ns_ = kNoTime;            // coarse: when the last batch was begun, or later
  std::int64_t first_expiry_ns_ = kNever;      // nothing that waits is over before
  std::int64_t next_burial_ns_ = 0;            // see bury_expired_sometimes(), coarse
  std::uint32_t budget_;
  std::uint32_t most_slots_ = 0;  // of an ordinary lane
  std::uint32_t few_places_;      // see is_crowded()
  bool fifo_ = false;
  bool ranks_by_relation_ = false;
};

// ---- What every message passes: taken into what calls it ----------------------------------------

// Nearly always none has anything: whether one may be read is asked out of the call.
inline bool Receiver::urgent_lanes_are_empty() const {
  if (watched_ > kActiveLinks) return false;
  for (std::size_t i = 0; i < watched_; ++i) {
    if (links_[i]->has_message(shm::Lane::kUrgent)) return !has_urgent_lane();
  }
  return true;
}

inline bool Receiver::calls_for_turn() const {
  if (looked_at_ > kActiveLinks) return true;  // a turn is shorter than a look at all of them
  for (std::size_t i = 0; i < looked_at_; ++i) {
    links_[i]->prefetch_payload();
    if (links_[i]->has_message()) return true;
  }
  return false;
}

inline bool Receiver::has_to_settle() const {
  return !unwanted_.empty() || !newly_stashed_.empty() || !orders_.empty();
}

// None of the reasons of drop_unfit() can hold.
inline bool Receiver::is_surely_fit(const shm::Entry& entry) const {
  const shm::MessageHeader& header = entry.header;
  return !is_copy(header) && header.ttl_ms == 0 && entry.word().attempts == 0 &&
         header.hops <= home_->home().control().max_hops;
}

inline std::uint32_t Receiver::take() {
  shm::Inbox& inbox = home_->inbox();
  for (;;) {
    const std::uint32_t at = inbox.take_best();
    if (at == shm::kNoEntry) return at;
    if (shm::is_mutant(shm::Mutant::kStampBeforeUse) && entry(at).in_slab()) {
      shm::stamp(*stamp_word(at), entry(at).generation);
    }
    if (entry(at).in_slab()) prefetch_next_payload();  // so does the next one, probably
    if (is_surely_fit(home_->home().entry(at)) || !drop_unfit(at)) return at;
  }
}

[[gnu::always_inline]] inline void Receiver::done(std::uint32_t at) {
  const shm::Entry& finished = entry(at);
  const std::uint32_t row = finished.word().row;
  shm::Atomic<std::uint64_t>* stamp = finished.in_slab() ? stamp_word(at) : nullptr;
  home_->inbox().done(at, stamp);
  // A sender may wait for a slab as it waits for a slot.
  if (stamp != nullptr) ring_for_space(*rows_[row]);
  unrefer(row);
}

// When a message was sent: as it says, but neither before the lane was empty nor later than now. A
// link that became known in the tick of the clock in which all were seen empty was not among them.
inline std::int64_t Receiver::time_sent(const InLink& link, std::int64_t said_ns) const {
  const bool was_known = link.known_since_ns < all_empty_ns_;
  const std::int64_t earliest =
      was_known ? std::max(link.seen_empty_ns, all_empty_ns_) : link.seen_empty_ns;
  return std::clamp(said_ns, earliest, std::max(earliest, clock_ns_));
}

// The relation decides how urgent a message may be.
inline std::int32_t Receiver::rank_of(InLink& link, std::int32_t said, std::uint16_t type) const {
  if (!ranks_by_relation_) return said;
  return stored_rank(said, link.relation, link.known_type(type) == KnownType::kEscalation);
}

// It is sound and simple, and no order can be about it.
inline bool Receiver::is_simple(const InLink& link, const shm::HeaderWords& words) const {
  return shm::is_sound_simple(words, link.owner_pid, link.view.layout(), link.verified) &&
         orders_.empty();
}

inline void Receiver::unrefer(std::uint32_t row) {
  if (row >= rows_.size() || rows_[row] == nullptr || rows_[row]->live == 0) return;
  InLink& link = *rows_[row];
  if (--link.live == 0 && link.owner_gone) [[unlikely]]
    note_unreferred(link);
}

}  // namespace beeline::receive
