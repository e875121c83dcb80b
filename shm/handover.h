#pragma once
// A successor copies its predecessor's home, entry by entry, as from a hostile writer. The old home
// is never changed.
//
// A predecessor that was fenced may still run. So its receipts are observed, stamps first, then its
// row, then the cursors in it (src/receive/successor.cc), then the state of each entry, and what
// was committed before is seen. Every other load is relaxed: it comes after those, or after the
// proof of the owner's death. What a living one still changes is like the work of a hostile writer:
// each word is read once, and the copy is checked and used; but for the stamps, which are read once
// more in the end. Every store to the new home is relaxed: its header says ready later, and nobody
// looks at a home that does not.
//
//   old entry                                            new entry
//   free, or never committed (position >= home cursor)   -        still in its lane, if anywhere
//   leased or dead, and never committed                  -        cannot be: a hostile writer
//   no state, a reason that is none, or an arrival       -        the same
//   that was never counted
//   slab already stamped                                 -        it was done
//   queued                                               queued   same attempts
//   leased                                               queued   attempts + 1 = redelivered
//   leased, its sender has taken it back                 dead
//   dead                                                 dead
//
// What is bad counts as done. Its slab is not stamped: a hostile writer could have freed the entry
// without a stamp as well, and nobody could tell. It is one slab less of a link to the liar's name.
//
// The successor's receipts start from the old home's cursors and the old stamps: a sender never
// sees those of an honest life that has died move back. A predecessor that lied in them harms
// neither: cursors that cannot be are replaced here, and stamps that cannot be are void to their
// sender (SlabPool::inherit) and go when their slab comes again (withdraw_stamp). Where its sender
// had believed more, it keeps slots and slabs for what the successor takes once more, as far as
// they still hold it (LaneWriter::listen_to, SlabPool::take_back). Of a life that still runs
// nothing is heard while the successor reads, and nothing after (SendPath::retarget,
// OutLink::still_counts). Killed at any point, nothing has changed: the new home is not ready and
// nobody has been told.

#include <algorithm>
#include <array>
#include <bitset>

#include "shm/inbox.h"
#include "shm/lane.h"

namespace beeline::shm {

// What a successor knows of one in-link of its predecessor.
struct InheritedLink {
  LinkKey key;
  std::uint32_t owner_pid = 0;
  std::uint64_t cursors[kLanes] = {0, 0};   // from the old row; 0 when the predecessor had no row
  std::uint64_t receipts[kLanes] = {0, 0};  // from the old bank, read before the old row: what an
                                            // honest predecessor wrote there is never beyond that
  std::int64_t seen_empty_ns = 0;   // from the old row; what is in the lanes was sent after it
  std::int64_t known_since_ns = 0;  // from the old row, else since when we know of it
  bool has_stamps = false;          // the old bank had some
  std::array<std::uint64_t, kMaxSlabs> stamps{};  // as they were copied, once
  std::bitset<kMaxSlabs> held;                    // slabs of the entries that were inherited
  LinkLayout layout{LinkContract{}};              // of the in-link
  VerifiedExtents verified;                       // of the in-link
  std::uint16_t new_row = kNoRow;
};

// A private copy of an entry of another process.
struct EntryCopy {
  EntryWord word;
  std::uint64_t arrival = 0;
  SlotCopy slot{};
};

[[nodiscard]] inline EntryCopy copy_entry(const Entry& entry) {
  const auto& words = reinterpret_cast<const WordArray<16>&>(entry);
  std::uint64_t raw[16];
  EntryCopy copy;
  // SYNC(home.entry): acquire; the message that it stands for is seen whole.
  copy.word = EntryWord::unpack(entry.state.observe());
  words.load_bytes(raw, sizeof(raw));
  copy.arrival = raw[1];
  std::memcpy(&copy.slot.header, raw + 2, sizeof(MessageHeader));
  copy.slot.generation = raw[8];
  const bool in_slab = (copy.slot.header.flags & kFlagSlab) != 0;
  const std::size_t front = in_slab ? sizeof(Entry::generation) : 0;
  std::memcpy(copy.slot.payload, reinterpret_cast<const unsigned char*>(raw + 8) + front,
              kInlineBytes - front);
  return copy;
}

// Copies one stamp of the old bank; what is judged by it is judged by this copy. REQUIRES: it is
// memory.
// SYNC(slab.stamp): acquire, pairs with stamp(); what is read of the predecessor after it holds the
// message that was finished.
inline void copy_stamp(const LinkView& old, std::size_t bank, std::uint32_t slab,
                       InheritedLink& link) {
  link.stamps[slab] = old.stamp(bank, slab).observe();
}

inline void copy_stamps(const LinkView& old, std::size_t bank, InheritedLink& link) {
  for (std::uint32_t slab = 0; slab < kMaxSlabs; ++slab) copy_stamp(old, bank, slab, link);
  link.has_stamps = true;
}

// What a predecessor that was fenced and still runs has finished after that and before its entry
// was copied: the sender hears of it from its successor alone. The stamp, 0 where there is nothing
// more to say. What lies in a lane still is taken once more, and the stamp is withdrawn then.
// REQUIRES: all entries were copied. relaxed: the one that it is about was seen to be free, which
// was stored after the stamp and after all that was done with the message.
[[nodiscard]] inline std::uint64_t late_stamp(const LinkView& old, std::size_t bank,
                                              std::uint32_t slab, const InheritedLink& link) {
  if (is_mutant(Mutant::kLateStampMissed)) return 0;
  const std::uint64_t now = old.stamp(bank, slab).relaxed_load();
  return now > link.stamps[slab] && !link.held[slab] ? now : 0;
}

// Whether the old stamps say that this slab message was finished.
[[nodiscard]] inline bool was_stamped(const InheritedLink& link, const SlotCopy& slot) {
  if (is_mutant(Mutant::kStampOverlooked)) return false;
  return link.has_stamps && link.stamps[slot.header.slab] >= slot.generation;
}

// How many messages of a lane this slot shows to have been published; 0 where its number is that of
// no message. `index` is the slot's.
[[nodiscard]] constexpr std::uint64_t published_by(std::uint64_t commit, std::uint32_t index,
                                                   std::uint32_t capacity) {
  return commit != 0 && (commit - 1) % capacity == index ? commit : 0;
}

// How many messages were ever published in a lane, as its slots say.
[[nodiscard]] inline std::uint64_t published_ever(const LinkView& link, Lane lane) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < link.capacity(lane); ++i) {
    const std::uint64_t commit = link.slot(lane, i).commit.relaxed_load();  // a number alone
    most = std::max(most, published_by(commit, i, link.capacity(lane)));
  }
  return most;
}

// What counts instead of a cursor that cannot be: one beyond what was published, so far behind that
// its messages were written over, or behind the receipt, which the sender believes. It is not to be
// blamed for that, nor is the successor, whose receipts begin with it. The receipt counts instead,
// or, where that cannot be either, nothing that still lies in the lane counts as taken.
// `published_ever` says how much was published; the owner may go on sending, so it is asked once
// more before the lane is begun anywhere.
template <typename PublishedEver>
[[nodiscard]] std::uint64_t sound_cursor(std::uint64_t cursor, std::uint64_t receipt,
                                         std::uint32_t capacity, PublishedEver&& published_ever) {
  const std::uint64_t published = published_ever();
  const auto can_be = [&](std::uint64_t at) {
    return at <= published && published - at <= capacity;
  };
  if (can_be(receipt) && (receipt > cursor || !can_be(cursor))) cursor = receipt;
  if (can_be(cursor)) return cursor;
  const std::uint64_t now = published_ever();
  return now - std::min<std::uint64_t>(now, capacity);
}

// Makes the cursors sound. `in` is the in-link.
inline void make_cursors_sound(InheritedLink& link, const LinkView& in) {
  for (const Lane lane : {Lane::kNormal, Lane::kUrgent}) {
    std::uint64_t& cursor = link.cursors[static_cast<std::size_t>(lane)];
    cursor = sound_cursor(cursor, link.receipts[static_cast<std::size_t>(lane)], in.capacity(lane),
                          [&] { return published_ever(in, lane); });
    if (is_mutant(Mutant::kCursorNotInherited)) cursor = 0;
  }
}

enum class Inherit : std::uint32_t { kNothing = 0, kTake = 1, kBad = 2 };

// How far an old home may have counted arrivals. An honest one starts again at two thirds of it, as
// soon as it is empty; the last quarter of the 40 bits is room for its successor.
inline constexpr std::uint64_t kMaxInheritedArrivals = 3ULL << 38;

[[nodiscard]] constexpr std::uint64_t inherited_arrivals(std::uint64_t next_arrival) {
  return next_arrival < kMaxInheritedArrivals ? next_arrival : kMaxInheritedArrivals;
}

// Whether an old entry holds a message that its owner had committed, as its own words say: the
// message itself is not judged. `cursor` is that of its lane in the old row, `next_arrival` the old
// home's.
[[nodiscard]] inline Inherit judge_words(const EntryCopy& copy, std::uint64_t cursor,
                                         std::uint64_t next_arrival) {
  const EntryState state = copy.word.state;
  if (state == EntryState::kFree) return Inherit::kNothing;
  if (state > EntryState::kDead && !is_mutant(Mutant::kStateUnchecked)) return Inherit::kBad;
  // What is not dead may bear a reason: killed while it was buried.
  const auto reason = static_cast<DeadReason>(copy.slot.header.flags >> kReasonShift);
  if (reason > kLastReason || (state == EntryState::kDead && reason == DeadReason::kNone)) {
    return Inherit::kBad;
  }
  const std::uint64_t arrivals = inherited_arrivals(next_arrival);
  if (copy.arrival == 0 || copy.arrival >= arrivals) return Inherit::kBad;
  if (lies_behind(copy.word, cursor, arrivals - copy.arrival)) return Inherit::kTake;
  // Nothing is leased or buried before it is committed: such an entry may lie in its lane as well.
  if (state != EntryState::kQueued) return Inherit::kBad;
  return is_mutant(Mutant::kUncommittedInherited) ? Inherit::kTake : Inherit::kNothing;
}

// Decides what to do with an old entry whose row led to `link`; `next_arrival` is the old home's.
[[nodiscard]] inline Inherit judge_entry(const EntryCopy& copy, const InheritedLink& link,
                                         std::uint64_t next_arrival) {
  if (copy.word.state == EntryState::kLeased && is_mutant(Mutant::kLeaseDropped)) {
    return Inherit::kNothing;
  }
  const auto lane = static_cast<std::size_t>(lane_of(copy.slot.header));
  const Inherit verdict = judge_words(copy, link.cursors[lane], next_arrival);
  if (verdict != Inherit::kTake) return verdict;
  SlotCopy wire = copy.slot;  // as it was in the lane: without the receiver's own flags
  wire.header.flags &= kWireFlags;
  if (check_slot(wire, link.owner_pid, link.layout, link.verified) != SlotFault::kNone) {
    return Inherit::kBad;
  }
  if ((copy.slot.header.flags & kFlagSlab) != 0 && was_stamped(link, copy.slot)) {
    return Inherit::kNothing;
  }
  return Inherit::kTake;
}

// Writes an inherited entry at `at` of the new home. REQUIRES: judge_entry() said kTake; the entry
// is free.
inline void inherit_entry(const Home& home, std::uint32_t at, const EntryCopy& copy,
                          std::uint16_t new_row) {
  Entry& entry = home.entry(at);
  EntryWord word = copy.word;
  word.row = new_row;
  const auto reason = static_cast<DeadReason>(copy.slot.header.flags >> kReasonShift);
  if (word.state == EntryState::kLeased && reason == DeadReason::kCancelled) {
    word.state = EntryState::kDead;
  } else if (word.state == EntryState::kLeased) {
    word.state = EntryState::kQueued;
    if (word.attempts != 255 && !is_mutant(Mutant::kRedeliveryUnflagged)) ++word.attempts;
  }
  entry.arrival = copy.arrival;
  entry.header = copy.slot.header;
  entry.header.flags = unmatched(entry.header.flags);
  if ((entry.header.flags & kFlagStashed) == 0) {  // no honest home: such an answer lies aside
    entry.header.flags = static_cast<std::uint16_t>(entry.header.flags & ~kFlagUnasked);
  }
  if (word.state !=
      EntryState::kDead) {  // killed while it was buried: the reason was there, the state not
    entry.header.flags = static_cast<std::uint16_t>(entry.header.flags & ~(0xf << kReasonShift));
  }
  if (entry.in_slab()) entry.generation = copy.slot.generation;
  std::memcpy(entry.area(), copy.slot.payload, used_bytes(copy.slot.header));
  entry.state.relaxed_store(word.pack());
}

// Starts the receipt bank of a new link from the old stamps. REQUIRES: the new bank's stamps are
// allocated if there are old ones; the bank is not open yet. relaxed: published by its name
// (open_bank).
inline void inherit_stamps(const Link& own, std::size_t bank, const InheritedLink& link) {
  if (is_mutant(Mutant::kStampsNotInherited) || !link.has_stamps) return;
  for (std::uint32_t slab = 0; slab < kMaxSlabs; ++slab) {
    own.stamp(bank, slab).relaxed_store(link.stamps[slab]);
  }
  own.bank(bank).stamps_ready.relaxed_store(1);
}

// Carries the counters over, that of arrivals too, and computes `done` from the balance: whatever
// was taken and is not there any more counts as done, also an entry that was bad. What a hostile
// writer made of its home is not told from what it had finished.
// REQUIRES: rows are open with the inherited cursors, all entries are inherited, `live` counts
// them.
inline void inherit_counters(const Home& home, const HomeView& old, std::uint64_t live,
                             std::uint64_t drained) {
  if (drained < live) drained = live;  // cannot be: a hostile writer
  const InboxCounters& from = old.control().counters;
  InboxCounters& to = home.control().counters;
  std::uint64_t open = 0;
  for (std::uint32_t i = 0; i < home.rows_allocated(); ++i) {
    if (home.row(i).incarnation.relaxed_load() != 0) open += taken_from(home.row(i));
  }
  home.control().retired.relaxed_store(drained - open);
  std::uint64_t purged = from.purged.relaxed_load();
  if (purged > drained - live) purged = drained - live;  // cannot be: a hostile writer
  to.purged.relaxed_store(purged);
  to.done.relaxed_store(drained - live - purged);
  to.dead.relaxed_store(from.dead.relaxed_load());
  to.requeued.relaxed_store(from.requeued.relaxed_load());
  to.rejected.relaxed_store(from.rejected.relaxed_load());
  to.expired.relaxed_store(from.expired.relaxed_load());
  to.exhausted.relaxed_store(from.exhausted.relaxed_load());
  to.bad_slots.relaxed_store(from.bad_slots.relaxed_load());
  to.late_replies.relaxed_store(from.late_replies.relaxed_load());
  to.copies_dropped.relaxed_store(from.copies_dropped.relaxed_load());
  const std::uint64_t arrivals = inherited_arrivals(old.control().next_arrival);
  if (home.control().next_arrival < arrivals) home.control().next_arrival = arrivals;
  // As many bits as an id has of it.
  const std::uint64_t reserved = counter_of_message(old.control().reserved_ids.relaxed_load());
  home.control().reserved_ids.relaxed_store(reserved);
}

}  // namespace beeline::shm
