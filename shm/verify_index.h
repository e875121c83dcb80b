#pragma once
// The layout of a copied home, and the invariants of its order index.
//
//   run    strictly ascending nodes; removed ones keep key and arrival and lead nowhere
//   heap   no node is before its parent
//   nodes  each leads to a queued, indexed entry and carries its key and arrival
//   set    the nodes and the queued, indexed entries are the same set
//
// The last is judged without memory for the set: counts are equal, every node leads to such an
// entry, and the sums of a mixed 64-bit hash over both sides are equal. Two different multisets
// pass by an accident of 2^-64 only.

#include "shm/verify_header.h"

namespace beeline::shm {

class HomeShape {
 public:
  explicit HomeShape(std::uint32_t entries) : capacity(entries), layout_(entries) {}

  const std::uint32_t capacity;

  [[nodiscard]] const HomeLayout& layout() const { return layout_; }
  [[nodiscard]] std::uint64_t control(std::uint64_t field) const { return layout_.control + field; }
  [[nodiscard]] std::uint64_t row_at(RowIndex row) const {
    return layout_.rows + row.value() * sizeof(InRow);
  }
  [[nodiscard]] std::uint64_t entry_at(EntryIndex entry) const {
    return layout_.entries + entry.value() * sizeof(Entry);
  }

  [[nodiscard]] std::uint32_t rows_allocated(ByteView bytes) const {
    const std::uint32_t rows = bytes.u32(control(offsetof(HomeControl, rows_allocated)));
    return rows < kMaxRows ? rows : kMaxRows;
  }
  [[nodiscard]] std::uint32_t entries_allocated(ByteView bytes) const {
    const std::uint32_t entries = bytes.u32(control(offsetof(HomeControl, entries_allocated)));
    return entries < capacity ? entries : capacity;
  }
  [[nodiscard]] std::uint64_t cursor(ByteView bytes, RowIndex row, Lane lane) const {
    return bytes.u64(row_at(row) + offsetof(InRow, cursors) + static_cast<std::size_t>(lane) * 8);
  }
  [[nodiscard]] std::uint64_t taken_from(ByteView bytes, RowIndex row) const {
    return cursor(bytes, row, Lane::kNormal) + cursor(bytes, row, Lane::kUrgent);
  }

  // Messages that have arrived since this one, this one included.
  [[nodiscard]] std::uint64_t since(ByteView bytes, EntryIndex entry) const {
    return bytes.u64(control(offsetof(HomeControl, next_arrival))) -
           bytes.u64(entry_at(entry) + offsetof(Entry, arrival));
  }

  // A task that waits, or has waited.
  [[nodiscard]] bool is_task(ByteView bytes, EntryIndex entry) const {
    const std::uint64_t at = entry_at(entry);
    const auto header = bytes.load<MessageHeader>(at + offsetof(Entry, header));
    const std::size_t front = (header.flags & kFlagSlab) != 0 ? sizeof(Entry::generation) : 0;
    const auto kind =
        bytes.load<std::uint8_t>(at + offsetof(Entry, payload) + front + offsetof(Extension, kind));
    return (header.flags & kFlagStashed) != 0 && kind_of(header, kind) == MessageKind::kTask;
  }
  // True if the cursor of its row has passed a live entry. An entry without a row always counts as
  // passed.
  [[nodiscard]] bool is_taken(ByteView bytes, EntryIndex entry) const {
    const EntryWord word = EntryWord::unpack(bytes.u64(entry_at(entry)));
    if (word.row.value() >= rows_allocated(bytes)) return true;
    const auto header = bytes.load<MessageHeader>(entry_at(entry) + offsetof(Entry, header));
    return is_committed(word, cursor(bytes, word.row, lane_of(header)), since(bytes, entry));
  }

  // As shm::drained_total(), on a copy.
  [[nodiscard]] std::uint64_t drained_total(ByteView bytes) const {
    const std::uint64_t retired = bytes.u64(control(offsetof(HomeControl, retired)));
    std::uint64_t total = retired;
    for (RowIndex row(0); row.value() < rows_allocated(bytes); ++row) {
      if (bytes.u64(row_at(row)) == 0) continue;
      const std::uint64_t closed_at = bytes.u64(row_at(row) + offsetof(InRow, retired));
      if (retired != 0 && closed_at == retired) continue;
      total += taken_from(bytes, row);
    }
    return total;
  }

 private:
  HomeLayout layout_;
};

// The index of a copied home, with every position inside the copy whatever the control says.
struct IndexShape {
  IndexControl control{};
  std::uint64_t run = 0;
  std::uint64_t heap = 0;

  IndexShape(ByteView bytes, const HomeShape& home)
      : control(bytes.load<IndexControl>(home.control(offsetof(HomeControl, index)))),
        run(home.layout().run),
        heap(home.layout().heap) {}

  [[nodiscard]] std::uint64_t run_count() const { return control.run_tail - control.run_head; }
  [[nodiscard]] std::uint64_t run_node_at(std::uint64_t position) const {
    return run + (position & (control.size - 1)) * sizeof(IndexNode);
  }
  [[nodiscard]] std::uint64_t heap_node_at(std::uint64_t i) const {
    return heap + i * sizeof(IndexNode);
  }
};

[[nodiscard]] inline Finding verify_index_bounds(ByteView bytes, const HomeShape& home,
                                                 Taken taken) {
  const std::uint64_t at = home.control(offsetof(HomeControl, index));
  const IndexShape index(bytes, home);
  const std::uint64_t size = index.control.size;
  if ((size & (size - 1)) != 0) return broken("index.size", at + 24, size, home.capacity);
  if (auto finding = at_most("index.size", at + 24, size, home.capacity)) return finding;
  if (auto finding = at_most("index.heap_count", at + 16, index.control.heap_count, size)) {
    return finding;
  }
  if (taken == Taken::kWhileLive) return std::nullopt;
  if (auto finding = at_most("index.run_count", at + 8, index.run_count(), size)) return finding;
  const std::uint64_t entries = home.control(offsetof(HomeControl, entries_allocated));
  return at_most("index.covers_entries", entries, home.entries_allocated(bytes), size);
}

[[nodiscard]] inline bool is_indexed(EntryWord word, const MessageHeader& header) {
  return word.state == EntryState::kQueued && (header.flags & kUnindexedFlags) == 0;
}

// The node at `at` leads to an entry that it describes.
[[nodiscard]] inline Finding verify_node(ByteView bytes, const HomeShape& home, std::uint64_t at) {
  const auto node = bytes.load<IndexNode>(at);
  const std::uint64_t order = at + offsetof(IndexNode, order);
  const std::uint32_t entries = home.entries_allocated(bytes);
  if (node.entry().value() >= entries) {
    return broken("index.entry", order, node.entry().value(), entries);
  }
  const std::uint64_t entry = home.entry_at(node.entry());
  const EntryWord word = EntryWord::unpack(bytes.u64(entry));
  const auto header = bytes.load<MessageHeader>(entry + offsetof(Entry, header));
  if (!is_indexed(word, header)) {
    return broken("index.leads_to_queued", order, static_cast<std::uint64_t>(word.state),
                  static_cast<std::uint64_t>(EntryState::kQueued));
  }
  const std::uint64_t arrival = bytes.u64(entry + offsetof(Entry, arrival));
  if (auto finding = equal("index.arrival", order, node.order >> kEntryBits, arrival)) {
    return finding;
  }
  const auto policy =
      static_cast<OrderPolicy>(bytes.u32(home.control(offsetof(HomeControl, policy))));
  const auto step =
      static_cast<std::int64_t>(bytes.u64(home.control(offsetof(HomeControl, rank_step_us))));
  return equal("index.key", at, static_cast<std::uint64_t>(node.key),
               static_cast<std::uint64_t>(order_key(policy, step, header)));
}

[[nodiscard]] inline std::uint64_t mix64(std::uint64_t value) {
  value = (value + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

// Counts a set and sums up its hashes.
struct Fingerprint {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  void add(EntryIndex entry) {
    ++count;
    sum += mix64(entry.value());
  }
};

[[nodiscard]] inline Finding verify_run(ByteView bytes, const HomeShape& home,
                                        const IndexShape& index, Fingerprint& nodes) {
  for (std::uint64_t i = 0; i < index.run_count(); ++i) {
    const std::uint64_t at = index.run_node_at(index.control.run_head + i);
    const auto node = bytes.load<IndexNode>(at);
    if (i != 0) {
      const auto before = bytes.load<IndexNode>(index.run_node_at(index.control.run_head + i - 1));
      if (!before.before(node)) {
        return broken("index.run_sorted", at, static_cast<std::uint64_t>(node.key),
                      static_cast<std::uint64_t>(before.key));
      }
    }
    if (node.entry() == kNoEntry) continue;
    if (auto finding = verify_node(bytes, home, at)) return finding;
    nodes.add(node.entry());
  }
  return std::nullopt;
}

[[nodiscard]] inline Finding verify_heap(ByteView bytes, const HomeShape& home,
                                         const IndexShape& index, Fingerprint& nodes) {
  for (std::uint64_t i = 0; i < index.control.heap_count; ++i) {
    const std::uint64_t at = index.heap_node_at(i);
    const auto node = bytes.load<IndexNode>(at);
    if (i != 0) {
      const auto parent = bytes.load<IndexNode>(index.heap_node_at((i - 1) / 2));
      if (node.before(parent)) {
        return broken("index.heap_order", at, static_cast<std::uint64_t>(node.key),
                      static_cast<std::uint64_t>(parent.key));
      }
    }
    if (auto finding = verify_node(bytes, home, at)) return finding;
    nodes.add(node.entry());
  }
  return std::nullopt;
}

// The whole index. REQUIRES: verify_index_bounds() found nothing; the owner was at rest.
[[nodiscard]] inline Finding verify_index(ByteView bytes, const HomeShape& home) {
  const IndexShape index(bytes, home);
  Fingerprint nodes;
  if (auto finding = verify_run(bytes, home, index, nodes)) return finding;
  if (auto finding = verify_heap(bytes, home, index, nodes)) return finding;
  Fingerprint queued;
  for (EntryIndex i(0); i.value() < home.entries_allocated(bytes); ++i) {
    const EntryWord word = EntryWord::unpack(bytes.u64(home.entry_at(i)));
    const auto header = bytes.load<MessageHeader>(home.entry_at(i) + offsetof(Entry, header));
    if (is_indexed(word, header)) queued.add(i);
  }
  const std::uint64_t at = home.control(offsetof(HomeControl, index));
  if (auto finding = equal("index.count", at, nodes.count, queued.count)) return finding;
  return equal("index.same_set", at, nodes.sum, queued.sum);
}

}  // namespace beeline::shm
