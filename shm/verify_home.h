#pragma once
// The invariants of a home. REQUIRES of every walker here: verify_header() found nothing and the
// segment is a home.
//
//   control   the options are legal, counts within the limits
//   rows      names unique, owners and cursors that are possible
//   entries   states legal; each live entry leads to an open row and is committed, or is a queued
//             one that its owner was about to commit; the message is one that a receiver accepts
//   balance   drained_total = queued + tasks + leased + dead + done + purged
//   index     bounds; at rest (verify_index.h) its order, and that it holds exactly the queued
//             indexed entries
//
// A copy of a live home is not of one instant: invariants that tie two places together are judged
// only when the owner rests or is gone. After a kill `done` or `purged` may be one behind, never
// more and never ahead.

#include <algorithm>

#include "shm/verify_index.h"

namespace beeline::shm {

[[nodiscard]] inline Finding verify_home_options(ByteView bytes, const HomeShape& home) {
  const std::uint64_t capacity = home.control(offsetof(HomeControl, capacity));
  const std::uint64_t policy = home.control(offsetof(HomeControl, policy));
  const std::uint64_t reserve = home.control(offsetof(HomeControl, critical_reserve));
  const std::uint64_t attempts = home.control(offsetof(HomeControl, max_attempts));
  const std::uint64_t step = home.control(offsetof(HomeControl, rank_step_us));
  if (auto finding = equal("home.capacity", capacity, bytes.u32(capacity), home.capacity)) {
    return finding;
  }
  if (auto finding = at_most("home.policy", policy, bytes.u32(policy),
                             static_cast<std::uint64_t>(OrderPolicy::kFifo))) {
    return finding;
  }
  if (auto finding =
          at_most("home.critical_reserve", reserve, bytes.u32(reserve), home.capacity - 1ULL)) {
    return finding;
  }
  if (auto finding = named("home.max_attempts", attempts, bytes.u32(attempts), 255)) {
    return finding;
  }
  return named("home.rank_step", step, bytes.u64(step), 2'000'000'000);
}

[[nodiscard]] inline Finding verify_home_control(ByteView bytes, const HomeShape& home) {
  if (auto finding = verify_home_options(bytes, home)) return finding;
  constexpr std::uint64_t kLife = offsetof(SegmentHeader, owner_incarnation);
  const std::uint64_t arrival = home.control(offsetof(HomeControl, next_arrival));
  const std::uint64_t before = home.control(offsetof(HomeControl, predecessor));
  const std::uint64_t rows = home.control(offsetof(HomeControl, rows_allocated));
  const std::uint64_t entries = home.control(offsetof(HomeControl, entries_allocated));
  const std::uint64_t ids = home.control(offsetof(HomeControl, reserved_ids));
  if (auto finding = named("home.next_arrival", arrival, bytes.u64(arrival), 1ULL << 40)) {
    return finding;
  }
  if (auto finding = at_most("home.predecessor", before, bytes.u64(before), bytes.u64(kLife) - 1)) {
    return finding;
  }
  // The count goes on when its lower 40 bits, which the ids carry, begin anew.
  if (auto finding = at_most("home.reserved_ids", ids, bytes.u64(ids), kMaxPosition)) {
    return finding;
  }
  if (auto finding = at_most("home.rows_allocated", rows, bytes.u32(rows), kMaxRows)) {
    return finding;
  }
  if (auto finding =
          at_most("home.entries_allocated", entries, bytes.u32(entries), home.capacity)) {
    return finding;
  }
  return all_zero("home.reserved", bytes, home.control(offsetof(HomeControl, reserved2)),
                  sizeof(HomeControl::reserved2));
}

// A name of a row and its place, for finding equal names.
struct RowName {
  Incarnation incarnation{};
  std::uint32_t serial = 0;
  RowIndex row;
  [[nodiscard]] bool before(const RowName& other) const {
    if (incarnation != other.incarnation) return incarnation < other.incarnation;
    return serial != other.serial ? serial < other.serial : row < other.row;
  }
};

[[nodiscard]] inline Finding verify_row(ByteView bytes, const HomeShape& home, RowIndex row) {
  const std::uint64_t at = home.row_at(row);
  const std::uint64_t owner = at + offsetof(InRow, owner_pid);
  if (auto finding = at_most("row.incarnation", at, bytes.u64(at), kMaxIncarnation)) return finding;
  if (auto finding = named("row.owner", owner, bytes.u32(owner), kMaxPid)) return finding;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t cursor = at + offsetof(InRow, cursors) + lane * 8;
    if (auto finding = at_most("row.cursor", cursor, bytes.u64(cursor), kMaxPosition)) {
      return finding;
    }
  }
  return all_zero("row.reserved", bytes, at + offsetof(InRow, reserved), sizeof(InRow::reserved));
}

// The legal values of a row's `retired`: zero, or the two that a kill inside close_row() leaves.
[[nodiscard]] inline Finding verify_retired(ByteView bytes, const HomeShape& home, RowIndex row,
                                            Taken taken) {
  const std::uint64_t at = home.row_at(row) + offsetof(InRow, retired);
  const std::uint64_t found = bytes.u64(at);
  const std::uint64_t total = bytes.u64(home.control(offsetof(HomeControl, retired)));
  if (found == 0 || taken == Taken::kWhileLive) return std::nullopt;
  if (taken == Taken::kAtRest) return broken("row.retired", at, found, 0);
  const bool is_open = bytes.u64(home.row_at(row)) != 0;
  if (found == total || (is_open && found == total + home.taken_from(bytes, row))) {
    return std::nullopt;
  }
  return broken("row.retired", at, found, total);
}

[[nodiscard]] inline Finding verify_rows(ByteView bytes, const HomeShape& home, Taken taken) {
  std::array<RowName, kMaxRows> names;
  std::size_t count = 0;
  for (RowIndex row(0); row.value() < home.rows_allocated(bytes); ++row) {
    if (auto finding = verify_retired(bytes, home, row, taken)) return finding;
    const std::uint64_t at = home.row_at(row);
    if (bytes.u64(at) == 0) continue;
    if (auto finding = verify_row(bytes, home, row)) return finding;
    names[count++] = {Incarnation(bytes.u64(at)), bytes.u32(at + offsetof(InRow, serial)), row};
  }
  if (taken == Taken::kWhileLive) return std::nullopt;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(names.begin(), end, [](const RowName& a, const RowName& b) { return a.before(b); });
  for (std::size_t i = 1; i < count; ++i) {
    if (names[i].incarnation == names[i - 1].incarnation &&
        names[i].serial == names[i - 1].serial) {
      return broken("row.unique", home.row_at(names[i].row), names[i].row.value(),
                    names[i - 1].row.value());
    }
  }
  return std::nullopt;
}

// The message that a live entry holds, as far as the home alone can tell.
[[nodiscard]] inline Finding verify_message(ByteView bytes, std::uint64_t at, EntryState state) {
  const auto header = bytes.load<MessageHeader>(at + offsetof(Entry, header));
  const auto field = [at](std::size_t offset) { return at + offsetof(Entry, header) + offset; };
  const std::uint64_t flags = field(offsetof(MessageHeader, flags));
  const std::uint64_t reason = header.flags >> kReasonShift;
  const bool lacks = (header.flags & kExtendedFlags) != 0 && extension_bytes(header) == 0;
  const bool unasked = (header.flags & kFlagUnasked) != 0;
  if (lacks || (unasked && (header.flags & kFlagStashed) == 0)) {
    return broken("entry.flags", flags, header.flags, UINT16_MAX);
  }
  if (state == EntryState::kDead && reason == 0) {
    return broken("entry.reason", flags, 0, static_cast<std::uint64_t>(kLastReason));
  }
  if (auto finding =
          at_most("entry.reason", flags, reason, static_cast<std::uint64_t>(kLastReason))) {
    return finding;
  }
  if (pid_of_message(header.id) == 0 || counter_of_message(header.id) == 0) {
    return broken("entry.id", field(0), header.id, UINT64_MAX);
  }
  if (auto finding = at_most("entry.time", field(offsetof(MessageHeader, sent_ns)),
                             static_cast<std::uint64_t>(header.sent_ns), INT64_MAX)) {
    return finding;
  }
  const bool in_slab = (header.flags & kFlagSlab) != 0;
  for (const std::uint16_t number : {header.type, header.channel}) {
    if (in_slab && number == kCarriedText) continue;
    if (auto finding =
            at_most("entry.string", field(offsetof(MessageHeader, type)), number, kMaxStrings)) {
      return finding;
    }
  }
  if (auto finding = at_most("entry.length", field(offsetof(MessageHeader, length)), header.length,
                             in_slab ? kMaxMaxPayload : inline_room(header))) {
    return finding;
  }
  if (!in_slab) return std::nullopt;
  if (auto finding =
          at_most("entry.slab", field(offsetof(MessageHeader, slab)), header.slab, kMaxSlabs - 1)) {
    return finding;
  }
  const std::uint64_t generation = at + offsetof(Entry, generation);
  return named("entry.generation", generation, bytes.u64(generation), UINT64_MAX);
}

// The origin of a live entry. An entry without a row stands alone: it is committed, and no link
// holds anything of it.
[[nodiscard]] inline Finding verify_origin(ByteView bytes, const HomeShape& home, std::uint64_t at,
                                           EntryWord word) {
  const auto header = bytes.load<MessageHeader>(at + offsetof(Entry, header));
  if (word.row == kNoRow) {
    const std::uint64_t in_slab = header.flags & kFlagSlab;
    return equal("entry.row_for_slab", at, in_slab, 0);
  }
  const std::uint32_t rows = home.rows_allocated(bytes);
  if (word.row.value() >= rows) return broken("entry.row", at, word.row.value(), rows);
  if (bytes.u64(home.row_at(word.row)) == 0) {
    return broken("entry.row_open", at, word.row.value(), rows);
  }
  const std::uint32_t owner = bytes.u32(home.row_at(word.row) + offsetof(InRow, owner_pid));
  if (auto finding =
          equal("entry.sender", at + offsetof(Entry, header), pid_of_message(header.id), owner)) {
    return finding;
  }
  const std::uint64_t cursor = home.cursor(bytes, word.row, lane_of(header));
  const std::uint64_t since = bytes.u64(home.control(offsetof(HomeControl, next_arrival))) -
                              bytes.u64(at + offsetof(Entry, arrival));
  // Only a queued entry may lie ahead of the cursor.
  if (word.state == EntryState::kQueued || lies_behind(word, cursor, since)) return std::nullopt;
  return broken("entry.committed", at + 4, word.position, (cursor - 1) & 0xffffffff);
}

[[nodiscard]] inline Finding verify_entry(ByteView bytes, const HomeShape& home, EntryIndex i,
                                          Taken taken) {
  const std::uint64_t at = home.entry_at(i);
  const EntryWord word = EntryWord::unpack(bytes.u64(at));
  if (auto finding = at_most("entry.state", at, static_cast<std::uint64_t>(word.state),
                             static_cast<std::uint64_t>(EntryState::kDead))) {
    return finding;
  }
  if (word.state == EntryState::kFree) return equal("entry.free", at, bytes.u64(at), 0);
  if (auto finding = verify_message(bytes, at, word.state)) return finding;
  if (taken == Taken::kWhileLive) return std::nullopt;
  const std::uint64_t next = bytes.u64(home.control(offsetof(HomeControl, next_arrival)));
  const std::uint64_t arrival = at + offsetof(Entry, arrival);
  if (auto finding = named("entry.arrival", arrival, bytes.u64(arrival), next - 1)) return finding;
  return verify_origin(bytes, home, at, word);
}

// The sums of the entries and the counters. Uncommitted entries do not count.
struct Balance {
  std::uint64_t drained = 0;
  std::uint64_t queued = 0;
  std::uint64_t tasks = 0;  // that wait
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
  std::uint64_t uncommitted = 0;
  std::uint64_t done = 0;
  std::uint64_t purged = 0;
  [[nodiscard]] std::uint64_t accounted() const {
    return queued + tasks + leased + dead + done + purged;
  }
};

// Adds up a home, whatever it holds.
[[nodiscard]] inline Balance balance_of(ByteView bytes, const HomeShape& home) {
  Balance balance;
  balance.drained = home.drained_total(bytes);
  const std::uint64_t counters = home.control(offsetof(HomeControl, counters));
  balance.done = bytes.u64(counters + offsetof(InboxCounters, done));
  balance.purged = bytes.u64(counters + offsetof(InboxCounters, purged));
  for (EntryIndex i(0); i.value() < home.entries_allocated(bytes); ++i) {
    const EntryWord word = EntryWord::unpack(bytes.u64(home.entry_at(i)));
    if (word.state == EntryState::kFree) continue;
    if (!home.is_taken(bytes, i)) {
      ++balance.uncommitted;
    } else if (word.state == EntryState::kQueued) {
      ++(home.is_task(bytes, i) ? balance.tasks : balance.queued);
    } else if (word.state == EntryState::kLeased) {
      ++balance.leased;
    } else if (word.state == EntryState::kDead) {
      ++balance.dead;
    }
  }
  return balance;
}

[[nodiscard]] inline Finding verify_balance(ByteView bytes, const HomeShape& home, Taken taken) {
  const Balance balance = balance_of(bytes, home);
  const std::uint64_t missing = balance.drained - balance.accounted();
  if (missing == 0 || (missing == 1 && taken == Taken::kAfterDeath)) return std::nullopt;
  return broken("home.balance", home.control(offsetof(HomeControl, counters)), balance.accounted(),
                balance.drained);
}

// A home that is not ready yet never had an owner: a successor was still copying into it. Only its
// header counts.
[[nodiscard]] inline Finding verify_home(ByteView bytes, Taken taken) {
  const HomeShape home(capacity_of(bytes));
  if (auto finding = verify_home_control(bytes, home)) return finding;
  if (auto finding = verify_rows(bytes, home, taken)) return finding;
  for (EntryIndex i(0); i.value() < home.entries_allocated(bytes); ++i) {
    if (auto finding = verify_entry(bytes, home, i, taken)) return finding;
  }
  if (auto finding = verify_index_bounds(bytes, home, taken)) return finding;
  if (taken == Taken::kWhileLive) return std::nullopt;
  if (auto finding = verify_balance(bytes, home, taken)) return finding;
  return taken == Taken::kAtRest ? verify_index(bytes, home) : std::nullopt;
}

}  // namespace beeline::shm
