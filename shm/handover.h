#pragma once
// A successor copies its predecessor's home, entry by entry, as from a hostile writer. The old home
// is never changed.
//
// A predecessor that was fenced may still run. So the successor observes its receipts, stamps
// first, then its row, then the cursors in the row (src/receive/successor.cc), then the state of
// each entry; so it sees everything that was committed before. Every other load is relaxed, because
// it comes after those or after the proof of the owner's death. Changes by a predecessor that still
// runs are treated like those of a hostile writer: each word is read once, and the copy is checked
// and used. Only the stamps are read once more at the end. Every store to the new home is relaxed:
// its header says ready later, and no process looks at a home before that.
//
//   old entry                                            new entry
//   free, or never committed (position >= home cursor)   -        still in its lane, if anywhere
//   leased or dead, and never committed                  -        cannot be: a hostile writer
//   no state, an unknown reason, or an arrival           -        cannot be: a hostile writer
//   that was never counted
//   slab already stamped                                 -        it was done
//   queued                                               queued   same attempts
//   leased                                               queued   attempts + 1 = redelivered
//   leased, its sender has taken it back                 dead
//   queued or leased, a task                             dead     nobody does a task again
//   dead                                                 dead
//
// A bad entry counts as done. Its slab is not stamped, so a link to the liar's name has one slab
// less: a hostile writer could have freed the entry without a stamp as well, unnoticed.
//
// The successor's receipts start from the old home's cursors and the old stamps, so a sender never
// sees the receipts of an honest dead life move back. A predecessor that lied in them harms neither
// side. Impossible cursors are replaced here. Impossible stamps are void to their sender
// (SlabPool::inherit) and withdrawn when their slab comes again (withdraw_stamp). A sender that had
// believed more keeps the slots and slabs that the successor takes once more, as far as they still
// hold their messages (LaneWriter::listen_to, SlabPool::take_back). A sender ignores a predecessor
// that still runs, while the successor reads and ever after (SendPath::retarget,
// OutLink::still_counts). Killed at any point, the successor has changed nothing: its home is not
// ready and no agent was told of it.

#include <algorithm>
#include <array>
#include <bitset>

#include "shm/check.h"
#include "shm/inbox.h"
#include "shm/lane.h"

namespace beeline::shm {

// One in-link of the predecessor, as its successor knows it.
struct InheritedLink {
  LinkKey key;
  std::uint32_t owner_pid = 0;
  std::uint64_t cursors[kLanes] = {0, 0};   // from the old row; 0 when the predecessor had no row
  std::uint64_t receipts[kLanes] = {0, 0};  // from the old bank, read before the old row: those of
                                            // an honest predecessor are never beyond its cursors
  std::int64_t seen_empty_ns = 0;   // from the old row; messages in the lanes were sent after it
  std::int64_t known_since_ns = 0;  // from the old row, else the time since which we know of the
                                    // link
  bool has_stamps = false;          // the old bank had stamps
  std::array<std::uint64_t, kMaxSlabs> stamps{};  // as copied, once
  std::bitset<kMaxSlabs> held;                    // slabs of inherited entries
  LinkLayout layout{LinkContract{}};              // of the in-link
  VerifiedExtents verified;                       // of the in-link
  RowIndex new_row = kNoRow;
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
  // SYNC(home.entry): acquire; the message of the entry is seen whole.
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

// Copies one stamp of the old bank; all later decisions use this copy. REQUIRES: the stamp's memory
// is allocated.
// SYNC(slab.stamp): acquire, pairs with stamp(); later loads from the predecessor see the message
// that was finished.
inline void copy_stamp(const LinkView& old, std::size_t bank, SlabIndex slab, InheritedLink& link) {
  link.stamps[slab.value()] = old.stamp(bank, slab).observe();
}

inline void copy_stamps(const LinkView& old, std::size_t bank, InheritedLink& link) {
  for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) copy_stamp(old, bank, slab, link);
  link.has_stamps = true;
}

// The stamp of a slab that the predecessor, fenced and still running, finished after the first copy
// of the stamps and before its entry was copied; 0 if there is none. Only the successor can tell
// the sender of it. If the message still lies in a lane, the successor takes it once more and
// withdraws the stamp then. REQUIRES: all entries were copied. relaxed: the copy saw the entry
// free, and the predecessor freed it after the stamp and after all work on the message.
[[nodiscard]] inline std::uint64_t late_stamp(const LinkView& old, std::size_t bank, SlabIndex slab,
                                              const InheritedLink& link) {
  const std::uint64_t now = old.stamp(bank, slab).relaxed_load();
  return now > link.stamps[slab.value()] && !link.held[slab.value()] ? now : 0;
}

// True if the old stamps say that this slab message was finished.
[[nodiscard]] inline bool was_stamped(const InheritedLink& link, const SlotCopy& slot) {
  return link.has_stamps && link.stamps[slot.header.slab] >= slot.generation;
}

// How many messages of its lane a slot shows to have been published; 0 if its commit number is that
// of no message. `index`: the slot's index.
[[nodiscard]] constexpr std::uint64_t published_by(std::uint64_t commit, std::uint32_t index,
                                                   std::uint32_t capacity) {
  return commit != 0 && (commit - 1) % capacity == index ? commit : 0;
}

// How many messages were ever published in a lane, as its slots show.
[[nodiscard]] inline std::uint64_t published_ever(const LinkView& link, Lane lane) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < link.capacity(lane); ++i) {
    const std::uint64_t commit = link.slot(lane, i).commit.relaxed_load();  // just a number
    most = std::max(most, published_by(commit, i, link.capacity(lane)));
  }
  return most;
}

// Replaces an impossible cursor: one beyond the last published message, so far behind that its
// messages were overwritten, or behind the receipt. The sender has believed that receipt, and the
// successor's receipts begin with it; neither of them has lied. Uses the receipt instead. If the
// receipt is impossible too, no message that still lies in the lane counts as taken.
// `published_ever` says how much was published; it is called again for that last case, because the
// owner may go on sending.
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
  }
}

enum class Inherit : std::uint32_t { kNothing = 0, kTake = 1, kBad = 2 };

// Largest arrival count that a successor takes over from an old home. An honest home starts again
// at two thirds of it, as soon as it is empty; the last quarter of the 40 bits is room for the
// successor.
inline constexpr std::uint64_t kMaxInheritedArrivals = 3ULL << 38;

[[nodiscard]] constexpr std::uint64_t inherited_arrivals(std::uint64_t next_arrival) {
  return next_arrival < kMaxInheritedArrivals ? next_arrival : kMaxInheritedArrivals;
}

// Decides by the words of an old entry whether it holds a message that its owner had committed;
// does not judge the message itself. `cursor` is that of its lane in the old row, `next_arrival`
// the old home's.
[[nodiscard]] inline Inherit judge_words(const EntryCopy& copy, std::uint64_t cursor,
                                         std::uint64_t next_arrival) {
  const EntryState state = copy.word.state;
  if (state == EntryState::kFree) return Inherit::kNothing;
  if (state > EntryState::kDead) return Inherit::kBad;
  // An entry that is not dead may bear a reason: its owner was killed while burying it.
  const auto reason = static_cast<DeadReason>(copy.slot.header.flags >> kReasonShift);
  if (reason > kLastReason || (state == EntryState::kDead && reason == DeadReason::kNone)) {
    return Inherit::kBad;
  }
  const std::uint64_t arrivals = inherited_arrivals(next_arrival);
  if (copy.arrival == 0 || copy.arrival >= arrivals) return Inherit::kBad;
  if (lies_behind(copy.word, cursor, arrivals - copy.arrival)) return Inherit::kTake;
  // An owner leases or buries no entry before it is committed; such an entry may lie in its lane as
  // well.
  if (state != EntryState::kQueued) return Inherit::kBad;
  return Inherit::kNothing;
}

// Decides what to do with an old entry whose row led to `link`; `next_arrival` is the old home's.
[[nodiscard]] inline Inherit judge_entry(const EntryCopy& copy, const InheritedLink& link,
                                         std::uint64_t next_arrival) {
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

// Writes an inherited entry at `at` of the new home. REQUIRES: judge_entry() said kTake.
inline void inherit_entry(const Home& home, EntryIndex at, const EntryCopy& copy,
                          RowIndex new_row) {
  Entry& entry = home.entry(at);
  BEELINE_DCHECK(entry.word().state == EntryState::kFree, at, entry.word().state);
  EntryWord word = copy.word;
  word.row = new_row;
  auto reason = static_cast<DeadReason>(copy.slot.header.flags >> kReasonShift);
  const bool is_task =
      (copy.slot.header.flags & kFlagStashed) != 0 && kind_of(copy.slot) == MessageKind::kTask;
  if (word.state != EntryState::kDead && is_task) reason = DeadReason::kCancelled;
  if (word.state == EntryState::kLeased && reason == DeadReason::kCancelled) {
    word.state = EntryState::kDead;
  } else if (word.state == EntryState::kQueued && is_task) {
    word.state = EntryState::kDead;
  } else if (word.state == EntryState::kLeased) {
    word.state = EntryState::kQueued;
    if (word.attempts != 255) ++word.attempts;
  }
  entry.arrival = copy.arrival;
  entry.header = copy.slot.header;
  entry.header.flags = unmatched(entry.header.flags);
  if ((entry.header.flags & kFlagStashed) == 0) {  // no honest home: such an answer is stashed
    entry.header.flags = static_cast<std::uint16_t>(entry.header.flags & ~kFlagUnasked);
  }
  // Killed while it was buried: the reason was stored, the state not.
  if (word.state != EntryState::kDead) reason = DeadReason::kNone;
  entry.header.flags = with_reason(entry.header.flags, reason);
  if (entry.in_slab()) entry.generation = copy.slot.generation;
  std::memcpy(entry.area(), copy.slot.payload, used_bytes(copy.slot.header));
  entry.state.relaxed_store(word.pack());
}

// Starts the receipt bank of a new link from the old stamps. REQUIRES: the new bank's stamps are
// allocated if there are old ones. relaxed: published by its name (open_bank).
inline void inherit_stamps(const Link& own, std::size_t bank, const InheritedLink& link) {
  if (!link.has_stamps) return;
  for (SlabIndex slab(0); slab.value() < kMaxSlabs; ++slab) {
    own.stamp(bank, slab).relaxed_store(link.stamps[slab.value()]);
  }
  own.bank(bank).stamps_ready.relaxed_store(1);
}

// Carries the counters over, the one of arrivals too. Computes `done` from the balance: every
// message that was taken and is gone counts as done, a bad entry too. Messages that a hostile
// writer removed from its home cannot be told from finished ones. REQUIRES: rows are open with the
// inherited cursors, all entries are inherited, `live` counts them.
inline void inherit_counters(const Home& home, const HomeView& old, std::uint64_t live,
                             std::uint64_t drained) {
  if (drained < live) drained = live;  // cannot be: a hostile writer
  const InboxCounters& from = old.control().counters;
  InboxCounters& to = home.control().counters;
  std::uint64_t open = 0;
  for (RowIndex i(0); i.value() < home.rows_allocated(); ++i) {
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
  // Only the bits that an id holds.
  const std::uint64_t reserved = counter_of_message(old.control().reserved_ids.relaxed_load());
  home.control().reserved_ids.relaxed_store(reserved);
}

}  // namespace beeline::shm
