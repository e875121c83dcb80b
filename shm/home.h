#pragma once
// The home: an agent's private segment. Readable by the coordinator and its tools alone.
//
//   page 0   header | control: policy, counters, index
//   rows     one for each in-link: its cursors (the commit point of a drain)
//   entries  the inbox table
//   run      nodes of the index's sorted run
//   heap     nodes of the index's heap
//
// Written by: its agent alone. Read by: the coordinator after the agent's death, a successor,
// tools. Rows, entries, run and heap are large and sparse; `*_allocated` in the control say how
// much is there. Zero means: vacant row, free entry, empty index. `ready` of the header is stored
// last, after a take-over is complete.

#include <algorithm>

#include "shm/check.h"
#include "shm/entry.h"
#include "shm/index.h"
#include "shm/link.h"

namespace beeline::shm {

inline constexpr std::uint32_t kMaxRows = 8192;
inline constexpr std::uint32_t kMaxEntries = 1U << 20;
inline constexpr std::uint32_t kDefaultInboxCapacity = 4096;
inline constexpr std::uint32_t kMinInboxCapacity = 16;
inline constexpr std::uint32_t kRowStep = 64;     // rows allocated at a time: one page
inline constexpr std::uint32_t kEntryStep = 128;  // entries of the first extent
inline constexpr std::uint32_t kMaxDeadLetters = 64;
static_assert(kMaxEntries < kNoEntry.value());
static_assert(kMaxRows < kNoRow.value());

enum class OrderPolicy : std::uint32_t { kAged = 0, kStrict = 1, kFifo = 2 };

// An inbox stores the rank that a sender asked for, or computes one from the relation.
enum class RankRule : std::uint32_t { kAsSent = 0, kByRelation = 1 };

struct InRow {
  Atomic<std::uint64_t> incarnation;  // owner of the in-link; stored last; 0 = vacant
  Atomic<std::uint64_t> cursors[2];   // first position not taken: normal, urgent
  Atomic<std::uint32_t> serial;
  Atomic<std::uint32_t> owner_pid;
  Atomic<std::uint64_t>
      retired;  // HomeControl::retired with this row counted in; 0 while the row is in use
  Atomic<std::int64_t> seen_empty_ns;   // when its lanes were last seen empty
  Atomic<std::int64_t> known_since_ns;  // when the row was opened; HomeControl::all_empty_ns says
                                        // nothing about the link before
  std::uint64_t reserved;
};
static_assert(sizeof(InRow) == kCacheLine);
static_assert(offsetof(InRow, cursors) == 8);

// Written by the owner only. Every recovered state has this balance:
//   drained_total() = queued + leased + dead (entries) + done + purged
// drained_total() follows from the cursors. A kill between the store that frees an entry and the
// counter leaves `done` or `purged` one behind. A successor computes `done` from the balance, so
// the balance loses no message.
struct InboxCounters {
  Atomic<std::uint64_t> done;    // finished
  Atomic<std::uint64_t> purged;  // dead letters dropped
  Atomic<std::uint64_t> dead;    // became dead letters
  Atomic<std::uint64_t> requeued;
  Atomic<std::uint64_t> rejected;
  Atomic<std::uint64_t> expired;
  Atomic<std::uint64_t> exhausted;
  Atomic<std::uint64_t> bad_slots;       // links quarantined, in all lives of the agent
  Atomic<std::uint64_t> late_replies;    // answers that no call waited for any more
  Atomic<std::uint64_t> copies_dropped;  // copies of siblings' messages, dropped because there was
                                         // no room
  std::uint64_t reserved[6];
};
static_assert(sizeof(InboxCounters) == 128);

struct HomeControl {
  std::uint32_t policy;            // OrderPolicy
  std::uint32_t capacity;          // entries at most
  std::uint32_t critical_reserve;  // how many of them only critical messages may use
  std::uint32_t max_attempts;
  std::int64_t rank_step_us;  // microseconds of age that one rank is worth
  std::uint64_t next_arrival;
  std::uint64_t predecessor;  // incarnation that this home was copied from, 0 = none
  Atomic<std::uint64_t>
      reserved_ids;  // message counters up to this one may be in use; a successor starts above it
  Atomic<std::uint64_t> retired;      // messages taken from links whose rows were closed
  Atomic<std::int64_t> all_empty_ns;  // when every lane was last seen empty
  Atomic<std::uint32_t> rows_allocated;
  Atomic<std::uint32_t> entries_allocated;
  std::uint32_t rank_rule;  // RankRule
  std::uint32_t max_hops;   // a message with more hops is a dead letter
  std::uint64_t reserved1[6];
  InboxCounters counters;
  IndexControl index;
  std::uint64_t reserved2[12];
};
static_assert(sizeof(HomeControl) == 384);
static_assert(offsetof(HomeControl, rows_allocated) == 64);
static_assert(offsetof(HomeControl, counters) == 128);
static_assert(offsetof(HomeControl, index) == 256);

struct HomeOptions {
  OrderPolicy policy = OrderPolicy::kAged;
  std::uint32_t capacity = kDefaultInboxCapacity;  // power of two
  std::uint32_t max_attempts = 3;
  std::int64_t rank_step_us = 10'000'000;  // factor 0.1 per second
  RankRule rank_rule = RankRule::kAsSent;
  std::uint32_t max_hops = 32;
};

struct HomeLayout {
  // The same for every capacity; named like the offsets below.
  static constexpr std::uint64_t control = sizeof(SegmentHeader);
  static constexpr std::uint64_t rows = kPage;
  static constexpr std::uint64_t entries = rows + kMaxRows * sizeof(InRow);
  std::uint64_t run = 0;
  std::uint64_t heap = 0;
  std::uint64_t bytes = 0;

  constexpr explicit HomeLayout(std::uint32_t capacity) {
    run = entries + capacity * sizeof(Entry);
    heap = round_up(run + capacity * sizeof(IndexNode), kPage);
    bytes = round_up(heap + capacity * sizeof(IndexNode), kPage);
  }
};
static_assert(HomeLayout(4096).entries % kPage == 0);
static_assert(HomeLayout(16).run % kCacheLine == 0);

template <typename T>
class BasicHome {
  template <typename U>
  using Like = std::conditional_t<std::is_const_v<T>, const U, U>;

 public:
  // REQUIRES: `base` maps HomeLayout(capacity).bytes bytes.
  BasicHome(T* base, std::uint32_t capacity)
      : base_(base), layout_(capacity), capacity_(capacity) {}

  [[nodiscard]] Like<SegmentHeader>& header() const { return at<SegmentHeader>(0); }
  [[nodiscard]] Like<HomeControl>& control() const { return at<HomeControl>(layout_.control); }
  [[nodiscard]] Like<InRow>& row(RowIndex index) const {
    BEELINE_DCHECK(index.value() < kMaxRows, index);
    return at<InRow>(layout_.rows + index.value() * sizeof(InRow));
  }
  [[nodiscard]] Like<Entry>& entry(EntryIndex index) const {
    BEELINE_DCHECK(index.value() < capacity_, index, capacity_);
    return at<Entry>(layout_.entries + index.value() * sizeof(Entry));
  }
  [[nodiscard]] Like<IndexNode>* run() const { return &at<IndexNode>(layout_.run); }
  [[nodiscard]] Like<IndexNode>* heap() const { return &at<IndexNode>(layout_.heap); }
  [[nodiscard]] const HomeLayout& layout() const { return layout_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

  // Allocated rows, never more than possible: the words may be another process's. relaxed: read by
  // the owner, or after its death was proven.
  [[nodiscard]] std::uint32_t rows_allocated() const {
    const std::uint32_t rows = control().rows_allocated.relaxed_load();
    return rows < kMaxRows ? rows : kMaxRows;
  }
  [[nodiscard]] std::uint32_t entries_allocated() const {
    const std::uint32_t entries = control().entries_allocated.relaxed_load();
    return entries < capacity_ ? entries : capacity_;
  }

 private:
  template <typename U>
  [[nodiscard]] Like<U>& at(std::uint64_t offset) const {
    return *reinterpret_cast<Like<U>*>(base_ + offset);
  }
  T* base_;
  HomeLayout layout_;
  std::uint32_t capacity_;
};

using Home = BasicHome<std::byte>;
using HomeView = BasicHome<const std::byte>;

[[nodiscard]] inline SegmentIdentity home_identity(std::uint32_t capacity, std::uint32_t pid,
                                                   Incarnation incarnation) {
  return {SegmentKind::kHome, HomeLayout(capacity).bytes, pid, 0, incarnation, 0};
}

// Null when the options are legal, otherwise the error.
[[nodiscard]] constexpr const char* home_error(const HomeOptions& options) {
  if (options.capacity < kMinInboxCapacity || options.capacity > kMaxEntries ||
      (options.capacity & (options.capacity - 1)) != 0) {
    return "an inbox has 16 to 1048576 places, a power of two";
  }
  if (options.max_attempts < 1 || options.max_attempts > 255) {
    return "max_attempts must lie between 1 and 255";
  }
  if (options.rank_step_us < 1 || options.rank_step_us > 2'000'000'000) {
    return "aging factor must be 0 or lie between 0.0005 and 1000000 per second";
  }
  return nullptr;
}

// Fills header and control, not ready yet. REQUIRES: page 0 is allocated.
inline void init_home(const Home& home, const HomeOptions& options, std::uint32_t pid,
                      Incarnation incarnation) {
  BEELINE_CHECK(home_error(options) == nullptr, options.capacity, options.max_attempts,
                options.rank_step_us);
  const HomeLayout& layout = home.layout();
  SegmentHeader& header = home.header();
  init_header(header, home_identity(options.capacity, pid, incarnation));
  add_section(header, SectionKind::kControl, layout.control, 1, sizeof(HomeControl));
  add_section(header, SectionKind::kRows, layout.rows, kMaxRows, sizeof(InRow));
  add_section(header, SectionKind::kEntries, layout.entries, options.capacity, sizeof(Entry));
  add_section(header, SectionKind::kRun, layout.run, options.capacity, sizeof(IndexNode));
  add_section(header, SectionKind::kHeap, layout.heap, options.capacity, sizeof(IndexNode));
  HomeControl& control = home.control();
  control.policy = static_cast<std::uint32_t>(options.policy);
  control.capacity = options.capacity;
  control.critical_reserve = options.capacity / 16 < 2 ? 2 : options.capacity / 16;
  control.max_attempts = options.max_attempts;
  control.rank_step_us = options.rank_step_us;
  control.rank_rule = static_cast<std::uint32_t>(options.rank_rule);
  control.max_hops = options.max_hops;
  control.next_arrival = 1;
}

// The rank, and below it the time of sending: microseconds for ranks from -4095 to 4095, which is
// good for 35 years of uptime. Other ranks have ticks of 4 ms, which stop after 104 days: from then
// on arrival alone decides among equal ones.
[[nodiscard]] constexpr std::int64_t strict_key(std::int64_t sent_ns, std::int32_t rank) {
  constexpr std::int64_t kNearRanks = 4096;
  constexpr std::int64_t kNearTimes = std::int64_t{1} << 50;
  constexpr std::int64_t kFarTimes = std::int64_t{1} << 31;
  if (-kNearRanks <= rank && rank < kNearRanks) {
    return rank * kNearTimes + std::clamp<std::int64_t>(sent_ns / 1000, 0, kNearTimes - 1);
  }
  const std::int64_t edge = rank < 0 ? -kNearRanks : kNearRanks;
  const std::int64_t tick = std::clamp<std::int64_t>(sent_ns >> 22, 0, kFarTimes - 1);
  return edge * kNearTimes + (rank - edge) * kFarTimes + tick;
}

// The fixed key of the delivery order: lower first. Equal keys go by arrival.
[[nodiscard]] constexpr std::int64_t order_key(OrderPolicy policy, std::int64_t rank_step_us,
                                               std::int64_t sent_ns, std::int32_t rank) {
  if (policy == OrderPolicy::kStrict) return strict_key(sent_ns, rank);
  return sent_ns / 1000 + (policy == OrderPolicy::kFifo ? 0 : rank * rank_step_us);
}

// The key of a message: a control message goes before all others.
[[nodiscard]] constexpr std::int64_t order_key(OrderPolicy policy, std::int64_t rank_step_us,
                                               const MessageHeader& header) {
  if (is_order(header)) return INT64_MIN;
  return order_key(policy, rank_step_us, header.sent_ns, header.rank);
}

// Opens a vacant row: cursors first, then the name. SYNC(home.row): release, for a successor that
// looks after death.
inline void open_row(InRow& row, const LinkKey& key, std::uint32_t owner_pid,
                     std::uint64_t normal_cursor, std::uint64_t urgent_cursor,
                     std::int64_t seen_empty_ns = 0, std::int64_t known_since_ns = 0) {
  row.seen_empty_ns.relaxed_store(seen_empty_ns);
  row.known_since_ns.relaxed_store(known_since_ns);
  row.cursors[0].relaxed_store(normal_cursor);
  row.cursors[1].relaxed_store(urgent_cursor);
  row.serial.relaxed_store(key.serial);
  row.owner_pid.relaxed_store(owner_pid);
  row.incarnation.publish(key.incarnation.value());
}

// relaxed, like everything that counts rows: read by the owner, or after its death was proven.
[[nodiscard]] inline std::uint64_t taken_from(const InRow& row) {
  return row.cursors[0].relaxed_load() + row.cursors[1].relaxed_load();
}

// Closes a row and keeps its count. Killed anywhere, the row counts exactly once: see
// drained_total(). REQUIRES: no entry refers to it.
inline void close_row(HomeControl& control, InRow& row) {
  const std::uint64_t total = control.retired.relaxed_load() + taken_from(row);
  // relaxed: readers use it only when control.retired says the same, and that publish keeps this
  // store and the cursors before it.
  row.retired.relaxed_store(total);
  control.retired.publish(total);
  row.incarnation.publish(0);
  row.retired.publish(0);
}

// Messages that this inbox and its predecessors have ever taken from lanes.
template <typename T>
[[nodiscard]] std::uint64_t drained_total(const BasicHome<T>& home) {
  const std::uint64_t retired = home.control().retired.relaxed_load();
  std::uint64_t total = retired;
  for (RowIndex i(0); i.value() < home.rows_allocated(); ++i) {
    const InRow& row = home.row(i);
    if (row.incarnation.relaxed_load() == 0) continue;
    // A kill inside close_row() after the total was stored: the row is counted already.
    if (retired != 0 && row.retired.relaxed_load() == retired) continue;
    total += taken_from(row);
  }
  return total;
}

}  // namespace beeline::shm
