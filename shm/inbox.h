#pragma once
// The inbox table of a home, as its owner works on it: put, commit, take, done, requeue, bury,
// revive.
//
// The order of stores is the whole point (each line is one store, top first):
//   put       fields of the entry ... state = queued ............. (not committed yet)
//   commit    cursor in the home's row = position after the last one put   <- now they are in
//             (then the caller publishes the receipt)
//   take      state = leased
//   done      stamp of the slab, in the own link ... state = free
//   requeue   state = queued, attempts + 1, or unchanged where the lease costs none
//   bury      reason in the flags ... state = dead
//   revive    mark in the flags ... state = queued, no attempts ... reason out of the flags
// The index and the free list are derived and may be anything after a kill.

#include <algorithm>
#include <array>
#include <span>

#include "shm/check.h"
#include "shm/home.h"
#include "shm/slab.h"

namespace beeline::shm {

// The kinds of messages that a place in the table is kept for. Critical messages have a reserve,
// and control messages have the last part of it for themselves.
enum class Room : std::uint8_t { kNormal, kCritical, kControl };

// A lease that goes back unfinished costs an attempt, or nothing if its holder did not fail.
enum class Cost : std::uint8_t { kAttempt, kNothing };

class Inbox {
 public:
  // `free_stack` has room for the capacity of the home; the caller owns it.
  Inbox(const Home& home, std::span<EntryIndex> free_stack)
      : home_(home),
        index_(home.control().index, home.run(), home.heap()),
        free_(free_stack),
        policy_(static_cast<OrderPolicy>(home.control().policy)),
        rank_step_us_(home.control().rank_step_us) {}

  // Entries [from, to) are allocated and free now; the index was grown to hold them.
  void add_entries(std::uint32_t from, std::uint32_t to) {
    BEELINE_CHECK(from <= to && to <= home_.capacity(), from, to, home_.capacity());
    BEELINE_CHECK(to <= home_.control().index.size, to, home_.control().index.size);
    for (std::uint32_t i = to; i > from; --i) free_[free_count_++] = EntryIndex(i - 1);
    // relaxed: the new entries are zero, which means free; the fence of grow_index() comes before.
    home_.control().entries_allocated.relaxed_store(to);
  }

  // True if there is room for one more message. Entries that are not allocated yet count as room,
  // so a caller that sees room and no free entry grows the table first.
  [[nodiscard]] bool has_room(Room room) const { return missing(room) == 0; }
  // How many ordinary messages find room if the table grows to its limit.
  [[nodiscard]] std::uint32_t plain_places() const {
    const std::uint32_t all = places();
    return all - std::min(all, home_.control().critical_reserve);
  }
  // How many ordinary messages can be put before the caller has to ask for room again.
  [[nodiscard]] std::uint32_t plain_room() const { return std::min(free_count_, plain_places()); }
  // How many entries have to become free until there is room.
  [[nodiscard]] std::uint32_t missing(Room room) const {
    const std::uint32_t critical_reserve = home_.control().critical_reserve;
    std::uint32_t reserve = 0;
    if (room == Room::kNormal) reserve = critical_reserve;
    if (room == Room::kCritical) reserve = std::max(1U, critical_reserve / 4);
    return reserve + 1 - std::min(places(), reserve + 1);
  }
  [[nodiscard]] std::uint32_t free_count() const { return free_count_; }

  // Puts a checked message. `mark`: 0, or the one of kUnindexedFlags
  // that keeps it out of the delivery order, and kFlagUnasked.
  EntryIndex put(const SlotCopy& copy, RowIndex row, Lane lane, std::uint64_t position,
                 std::int64_t sent_ns, std::uint16_t mark) {
    const EntryIndex at = claim();
    Entry& entry = home_.entry(at);
    entry.header = copy.header;
    entry.header.sent_ns = sent_ns;
    entry.header.flags = static_cast<std::uint16_t>(copy.header.flags | flag_of(lane) | mark);
    if (entry.in_slab()) {
      entry.generation = copy.generation;
      std::memcpy(entry.area(), copy.payload, extension_bytes(copy.header));
    } else {
      copy_inline(entry.payload, copy.payload, used_bytes(copy.header));
    }
    say_queued(entry, row, position);
    enter_queue(at, entry);
    return at;
  }

  // Puts a simple message: each word is copied once, from its slot. `rank`: the receiver's rank for
  // it. REQUIRES: is_sound_simple(words).
  [[gnu::always_inline]] EntryIndex put_simple(const HeaderWords& words, const Slot& slot,
                                               RowIndex row, Lane lane, std::uint64_t position,
                                               std::int64_t sent_ns, std::int32_t rank) {
    const EntryIndex at = put_alone(words, slot, row, lane, position, sent_ns, rank, 0);
    if (rank <= kRankCritical) ++critical_;
    const std::int64_t key = order_key(policy_, rank_step_us_, sent_ns, rank);
    index_.push(make_node(key, home_.entry(at).arrival, at));
    return at;
  }
  // Puts a simple message without a place in the order. After the commit the caller must take it
  // with take_only() before any other call. `mark`: 0 or kFlagMatched.
  [[gnu::always_inline]] EntryIndex put_alone(const HeaderWords& words, const Slot& slot,
                                              RowIndex row, Lane lane, std::uint64_t position,
                                              std::int64_t sent_ns, std::int32_t rank,
                                              std::uint16_t mark) {
    const EntryIndex at = claim();
    Entry& entry = home_.entry(at);
    words.store(entry.header, sent_ns, rank, static_cast<std::uint16_t>(flag_of(lane) | mark));
    if (words.is_extended()) [[unlikely]] {
      put_extended(entry, slot, words.generation());
    } else if (words.in_slab()) {
      entry.generation = words.generation();
    } else {
      slot.payload.load_bytes(entry.payload, std::min<std::size_t>(words.length(), kInlineBytes));
    }
    say_queued(entry, row, position);
    ++queued_;
    return at;
  }

  // The commit point of a drain: every message put from this lane below `cursor` is in the inbox
  // now.
  // SYNC(home.cursor): release, read by a successor after death.
  void commit(RowIndex row, Lane lane, std::uint64_t cursor) {
    home_.row(row).cursors[static_cast<std::size_t>(lane)].publish(cursor);
  }

  // Leases the next entry in delivery order and returns it, or kNoEntry.
  EntryIndex take_best() {
    const EntryIndex at = index_.pop_front();
    if (at == kNoEntry) return at;
    lease(home_.entry(at));
    if (queued_ >= kDeep) prefetch_next();
    return at;
  }

  // The entry that take_best() would return now. It stays queued.
  [[nodiscard]] EntryIndex next() {
    const IndexNode* const first = index_.front();
    return first == nullptr ? kNoEntry : first->entry();
  }

  // The first entry in delivery order that `matches(entry)`, or kNoEntry. Linear in the queue. It
  // stays queued.
  template <typename Matches>
  [[nodiscard]] EntryIndex find(Matches&& matches) const {
    IndexNode found = make_node(0, 0, kNoEntry);
    index_.for_each([&](const IndexNode& node) {
      const bool better = found.entry() == kNoEntry || node.before(found);
      if (better && matches(home_.entry(node.entry()))) found = node;
      return true;
    });
    return found.entry();
  }

  // Leases an entry from the middle of the order.
  void take(EntryIndex at) {
    const bool was_indexed = index_.remove(node_of(at));
    BEELINE_CHECK(was_indexed, at);
    lease(home_.entry(at));
  }

  // Leases many entries; for more than a few it rebuilds the order.
  void take_all(std::span<const EntryIndex> entries) {
    constexpr std::size_t kFew = 8;
    if (entries.size() <= kFew) {
      for (const EntryIndex at : entries) take(at);
      return;
    }
    for (const EntryIndex at : entries) lease(home_.entry(at));
    index_.clear();
    for (EntryIndex at(0); at.value() < home_.entries_allocated(); ++at) {
      const Entry& entry = home_.entry(at);
      if (entry.word().state != EntryState::kQueued) continue;
      if ((entry.header.flags & kUnindexedFlags) == 0) index_.push(node_of(at));
    }
  }

  // Leases an entry that has no place in the order.
  void take_unindexed(EntryIndex at) { lease(home_.entry(at)); }
  // Leases the entry that put_alone() has put; only the count of queued entries knows it.
  void take_only(EntryIndex at) { lease_counted(home_.entry(at)); }

  // Stashes a matched entry that no call waits for any more.
  void stash(EntryIndex at) {
    Entry& entry = home_.entry(at);
    entry.header.flags = unmatched(entry.header.flags);
  }

  // Finishes a leased entry. `stamp_word`: the stamp of its slab, null when the payload lies inline
  // or its link is gone.
  void done(EntryIndex at, Atomic<std::uint64_t>* stamp_word) {
    release(at, stamp_word);
    add(home_.control().counters.done, 1);
    --leased_;
  }

  // Counts as done messages that the cursors include but that were never put here: another life has
  // had them.
  void count_done(std::uint64_t count) { add(home_.control().counters.done, count); }

  // Puts a leased entry back at its old place in the order; an answer goes to the stash.
  void requeue(EntryIndex at, Cost cost = Cost::kAttempt) {
    Entry& entry = home_.entry(at);
    EntryWord word = entry.word();
    word.state = EntryState::kQueued;
    if (cost == Cost::kAttempt && word.attempts != 255) ++word.attempts;
    entry.header.flags = unmatched(entry.header.flags);
    // relaxed: one word says everything, and a successor clears the mark of an awaited answer too.
    entry.state.relaxed_store(word.pack());
    --leased_;
    add(home_.control().counters.requeued, 1);
    enter_queue(at, entry);
  }

  // The sender took back a leased message, and its handler is told: sets a reason in the flags. A
  // successor makes the entry a dead letter.
  void mark_cancelled(EntryIndex at) { set_reason(at, DeadReason::kCancelled); }

  // Makes a leased entry a dead letter. The payload stays where it is until purge().
  void bury(EntryIndex at, DeadReason reason) {
    Entry& entry = home_.entry(at);
    EntryWord word = entry.word();
    word.state = EntryState::kDead;
    set_reason(at, reason);
    entry.state.publish(word.pack());
    --leased_;
    list_letter(at);
    count_reason(reason);
    add(home_.control().counters.dead, 1);
  }

  // Puts a dead letter back into the queue, at its old place in the order, with all its attempts
  // before it. A stashed answer becomes an ordinary message, because no call fetched it from the
  // stash.
  //
  // The state is one store. The flags that a kill leaves beside it are harmless: the mark on a
  // letter that is still dead means nothing, and inherit_entry() clears a reason on a queued entry,
  // which a kill inside bury() leaves too. The reason goes last, because a dead letter without one
  // is broken.
  void revive(EntryIndex at) {
    Entry& entry = home_.entry(at);
    std::uint16_t& flags = entry.header.flags;
    flags = static_cast<std::uint16_t>((flags & ~(kUnindexedFlags | kFlagUnasked)) | kFlagRevived);
    EntryWord word = entry.word();
    BEELINE_CHECK(word.state == EntryState::kDead, at, word.state);
    word.state = EntryState::kQueued;
    word.attempts = 0;
    entry.state.publish(word.pack());
    crash_fence();
    flags = static_cast<std::uint16_t>(flags & ~(0xf << kReasonShift));
    unlist_letter(at);
    enter_queue(at, entry);
  }

  // Drops a dead letter.
  void purge(EntryIndex at, Atomic<std::uint64_t>* stamp_word) {
    release(at, stamp_word);
    add(home_.control().counters.purged, 1);
    unlist_letter(at);
  }

  // The dead letters. The one that has been dead for longest comes first; after a take-over, the
  // one that arrived first.
  [[nodiscard]] std::span<const EntryIndex> letters() const {
    return {letters_.data(), letters_count_};
  }

  // Rebuilds index, free list and counts from the entries after a take-over.
  void rebuild() {
    index_.clear();
    free_count_ = queued_ = leased_ = dead_ = critical_ = copies_ = 0;
    for (std::uint32_t i = home_.entries_allocated(); i > 0; --i) adopt(EntryIndex(i - 1));
    list_letters();
  }

  // Lists the dead letters anew. A caller keeps at most kMaxDeadLetters; if a take-over finds more,
  // some are not listed.
  void list_letters() {
    dead_ = letters_count_ = 0;
    for (EntryIndex at(0); at.value() < home_.entries_allocated(); ++at) {
      if (home_.entry(at).word().state == EntryState::kDead) list_letter(at);
    }
    std::sort(letters_.begin(), letters_.begin() + letters_count_,
              [this](EntryIndex a, EntryIndex b) {
                return home_.entry(a).arrival < home_.entry(b).arrival;
              });
  }

  void grow_index(std::uint64_t size) {
    index_.grow(size);
    crash_fence();  // no entry is counted that the index has no room for
  }

  [[nodiscard]] const Home& home() const { return home_; }
  [[nodiscard]] const OrderIndex& index() const { return index_; }
  [[nodiscard]] std::uint32_t queued() const { return queued_; }
  [[nodiscard]] std::uint32_t leased() const { return leased_; }
  [[nodiscard]] std::uint32_t dead() const { return dead_; }
  [[nodiscard]] std::uint32_t critical() const { return critical_; }
  [[nodiscard]] std::uint32_t copies() const { return copies_; }

  [[nodiscard]] IndexNode node_of(EntryIndex at) const { return node_of(at, home_.entry(at)); }

 private:
  // From so many queued entries on, the next one is asked for (docs/cache-lines.md, Prefetch
  // distances).
  static constexpr std::uint32_t kDeep = 256;
  void prefetch_next() {
    if (const EntryIndex at = next(); at != kNoEntry) prefetch_for_write(&home_.entry(at));
  }

  [[nodiscard]] IndexNode node_of(EntryIndex at, const Entry& entry) const {
    return make_node(order_key(policy_, rank_step_us_, entry.header), entry.arrival, at);
  }

  // An arrival has 40 bits in a node. After half of that range, 6 hours at 25 million a second,
  // arrivals start again as soon as the inbox is empty.
  [[nodiscard]] std::uint64_t next_arrival() {
    constexpr std::uint64_t kStartAgain = 1ULL << 39;
    std::uint64_t& next = home_.control().next_arrival;
    if (next >= kStartAgain && queued_ + leased_ + dead_ == 0) next = 1;
    return next++;
  }

  static void add(Atomic<std::uint64_t>& counter, std::uint64_t count) {
    crash_fence();  // a counter never runs ahead of the state that it counts
    counter.relaxed_store(counter.relaxed_load() + count);
  }

  // Free entries, and those that could be allocated.
  [[nodiscard]] std::uint32_t places() const {
    return free_count_ + home_.capacity() - home_.entries_allocated();
  }

  [[nodiscard]] static std::uint16_t flag_of(Lane lane) {
    return lane == Lane::kUrgent ? kFlagUrgentLane : std::uint16_t{0};
  }

  // A free entry for a message. The caller fills it and then calls say_queued().
  [[gnu::always_inline]] EntryIndex claim() {
    BEELINE_DCHECK(free_count_ != 0, free_count_);
    const EntryIndex at = free_[--free_count_];
    home_.entry(at).arrival = next_arrival();
    return at;
  }
  // Copies the payload area of a message with an extension.
  // SUBTLE: takes values, so that the words of its header stay in registers.
  [[gnu::noinline, gnu::cold]] static void put_extended(Entry& entry, const Slot& slot,
                                                        std::uint64_t generation) {
    if (entry.in_slab()) {
      entry.generation = generation;
      slot.payload.load_bytes(entry.area(), sizeof(Extension));
    } else {
      slot.payload.load_bytes(entry.payload, used_bytes(entry.header));
    }
  }
  // Marks an entry as queued once it holds its whole message.
  static void say_queued(Entry& entry, RowIndex row, std::uint64_t position) {
    const EntryWord queued{EntryState::kQueued, 0, row, static_cast<std::uint32_t>(position)};
    entry.state.publish(queued.pack());
  }

  // SUBTLE: two fixed-size copies beat one of variable length by several nanoseconds. The bytes
  // behind `length` come from the stack of this process, and nothing reads them.
  static void copy_inline(unsigned char* to, const unsigned char* from, std::size_t length) {
    if (length <= 16) {
      std::memcpy(to, from, 16);
    } else {
      std::memcpy(to, from, kInlineBytes);
    }
  }

  void set_reason(EntryIndex at, DeadReason reason) {
    std::uint16_t& flags = home_.entry(at).header.flags;
    flags = with_reason(flags, reason);
  }

  // Counts an entry whose state says queued, and gives it its place in the order.
  void enter_queue(EntryIndex at, const Entry& entry) {
    ++queued_;
    const MessageHeader& header = entry.header;
    if ((header.flags & kUnindexedFlags) != 0) return;
    if (header.rank <= kRankCritical) ++critical_;
    if (is_copy(header)) ++copies_;
    index_.push(node_of(at, entry));
  }

  void lease_counted(Entry& entry) {
    EntryWord word = entry.word();
    BEELINE_DCHECK(word.state == EntryState::kQueued, word.state);
    word.state = EntryState::kLeased;
    entry.state.publish(word.pack());
    --queued_;
    ++leased_;
  }
  void lease(Entry& entry) {
    lease_counted(entry);
    if ((entry.header.flags & kUnindexedFlags) != 0) return;
    if (entry.header.rank <= kRankCritical) --critical_;
    if (is_copy(entry.header)) --copies_;
  }

  // Frees an entry. REQUIRES: the caller counts it with add(), whose fence stands between this
  // store and the stores of the next message put there.
  void release(EntryIndex at, Atomic<std::uint64_t>* stamp_word) {
    Entry& entry = home_.entry(at);
    BEELINE_DCHECK(
        entry.word().state == EntryState::kLeased || entry.word().state == EntryState::kDead, at,
        entry.word().state);
    if (stamp_word != nullptr) stamp(*stamp_word, entry.generation);
    entry.state.publish(EntryWord{}.pack());
    free_[free_count_++] = at;
  }

  void count_reason(DeadReason reason) {
    InboxCounters& counters = home_.control().counters;
    if (reason == DeadReason::kRejected) add(counters.rejected, 1);
    if (reason == DeadReason::kExpired) add(counters.expired, 1);
    if (reason == DeadReason::kExhausted) add(counters.exhausted, 1);
  }

  void list_letter(EntryIndex at) {
    ++dead_;
    if (letters_count_ < letters_.size()) letters_[letters_count_++] = at;
  }

  void unlist_letter(EntryIndex at) {
    --dead_;
    const auto end = letters_.begin() + letters_count_;
    if (std::remove(letters_.begin(), end, at) != end) --letters_count_;
  }

  void adopt(EntryIndex at) {
    const Entry& entry = home_.entry(at);
    switch (entry.word().state) {
      case EntryState::kFree:
        free_[free_count_++] = at;
        break;
      case EntryState::kLeased:
        ++leased_;
        break;
      case EntryState::kDead:
        break;
      case EntryState::kQueued:
        enter_queue(at, entry);
        break;
    }
  }

  Home home_;
  OrderIndex index_;
  std::span<EntryIndex> free_;
  OrderPolicy policy_;
  std::int64_t rank_step_us_;
  // SUBTLE: keep counters that every message updates non-adjacent (docs/cache-lines.md, Store
  // forwarding).
  std::uint32_t free_count_ = 0;
  std::uint32_t critical_ = 0;
  std::uint32_t queued_ = 0;
  std::uint32_t copies_ = 0;  // queued copies in the order
  std::uint32_t leased_ = 0;
  std::uint32_t dead_ = 0;
  std::array<EntryIndex, kMaxDeadLetters + 1> letters_{};  // dead entries, oldest first
  std::uint32_t letters_count_ = 0;
};

}  // namespace beeline::shm
