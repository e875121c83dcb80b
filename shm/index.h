#pragma once
// The aging heap: the order in which the queued messages of an inbox are delivered.
//
//   run   a ring of nodes in ascending order; messages of one rank arrive nearly in key order and
//         are appended here
//   heap  a binary heap for the rest; the front is the smaller of the two fronts
//
// `rank - age * factor` ages every message equally, so the order of two messages never changes and
// nodes are compared by a fixed key (order_key()). Ties are broken by arrival. The index lies in
// the home so that tools can see the order. A new life rebuilds it from the entries after a crash,
// so a kill may leave it in any state. Written and read by the owner of the home.

#include <cstdint>

#include "shm/check.h"
#include "shm/ids.h"
#include "shm/segment.h"

namespace beeline::shm {

inline constexpr std::uint32_t kEntryBits = 24;
inline constexpr std::uint32_t kEntryMask = (1U << kEntryBits) - 1;
inline constexpr EntryIndex kNoEntry(kEntryMask);

struct IndexNode {
  std::int64_t key;
  std::uint64_t order;  // arrival << 24 | entry

  [[nodiscard]] EntryIndex entry() const {
    return EntryIndex(static_cast<std::uint32_t>(order & kEntryMask));
  }
  [[nodiscard]] bool before(const IndexNode& other) const {
    return key != other.key ? key < other.key : order < other.order;
  }
  // before() without a branch, for comparisons that the CPU cannot predict.
  [[nodiscard]] bool before_branchless(const IndexNode& other) const {
    return static_cast<bool>(
        static_cast<int>(key < other.key) |
        (static_cast<int>(key == other.key) & static_cast<int>(order < other.order)));
  }
};
static_assert(sizeof(IndexNode) == 16);

[[nodiscard]] constexpr IndexNode make_node(std::int64_t key, std::uint64_t arrival,
                                            EntryIndex entry) {
  return {key, arrival << kEntryBits | entry.value()};
}

struct IndexControl {
  std::uint64_t run_head;  // rises; ring position = head & (size - 1)
  std::uint64_t run_tail;
  std::uint64_t heap_count;
  std::uint64_t size;  // nodes that the run and the heap have room for each; a power of two
};
static_assert(sizeof(IndexControl) == 32);

// The algorithms, on memory that the home provides. One thread.
class OrderIndex {
 public:
  OrderIndex(IndexControl& control, IndexNode* run, IndexNode* heap)
      : control_(&control), run_(run), heap_(heap) {}

  [[nodiscard]] std::uint64_t count_nodes() const {
    return control_->run_tail - control_->run_head + control_->heap_count;
  }

  [[gnu::always_inline]] void push(IndexNode node) {
    const std::uint64_t tail = control_->run_tail;
    const std::uint64_t length = tail - control_->run_head;
    if (length != 0 && node.before(run_at(tail - 1))) return push_heap(node);
    if (length == control_->size) return push_full(node);
    IndexNode& last = run_at(tail);
    last.key = node.key;  // SUBTLE: one by one (docs/cache-lines.md, Store forwarding)
    last.order = node.order;
    control_->run_tail = tail + 1;
  }

  // The next node in delivery order, or null when there is none.
  [[nodiscard]] const IndexNode* front() {
    const IndexNode* best = run_front();
    if (control_->heap_count != 0 && (best == nullptr || heap_[0].before(*best))) best = &heap_[0];
    return best;
  }

  // Removes the next node and returns its entry, or kNoEntry.
  EntryIndex pop_front() {
    const IndexNode* const first = front();
    if (first == nullptr) return kNoEntry;
    const EntryIndex entry = first->entry();
    if (first == heap_) {
      remove_from_heap(0);
    } else {
      ++control_->run_head;
    }
    return entry;
  }

  // Visits every node; stops when `visit(node)` returns false. No order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::uint64_t i = control_->run_head; i != control_->run_tail; ++i) {
      if (run_at(i).entry() != kNoEntry && !visit(run_at(i))) return;
    }
    for (std::uint64_t i = 0; i < control_->heap_count; ++i) {
      if (!visit(heap_[i])) return;
    }
  }

  // Removes exactly this node (found by order, which is unique). False when it is not there.
  bool remove(const IndexNode& node) {
    for (std::uint64_t i = control_->run_head; i != control_->run_tail; ++i) {
      if (run_at(i).order != node.order) continue;
      run_at(i).order |= kEntryMask;  // keeps key and arrival: the run stays sorted
      return true;
    }
    for (std::uint64_t i = 0; i < control_->heap_count; ++i) {
      if (heap_[i].order != node.order) continue;
      remove_from_heap(i);
      return true;
    }
    return false;
  }

  // Gives run and heap room for `size` nodes each. REQUIRES: the memory is allocated.
  void grow(std::uint64_t size) {
    const std::uint64_t old = control_->size;
    BEELINE_CHECK(size >= old && size != 0 && (size & (size - 1)) == 0, size, old);
    for (std::uint64_t i = control_->run_head; old != 0 && i != control_->run_tail; ++i) {
      if ((i & (size - 1)) != (i & (old - 1))) run_[i & (size - 1)] = run_[i & (old - 1)];
    }
    control_->size = size;
  }

  void clear() { control_->run_head = control_->run_tail = control_->heap_count = 0; }

 private:
  [[nodiscard]] IndexNode& run_at(std::uint64_t position) const {
    return run_[position & (control_->size - 1)];
  }

  // The first node of the run that was not removed.
  [[nodiscard]] const IndexNode* run_front() {
    while (control_->run_head != control_->run_tail) {
      const IndexNode& node = run_at(control_->run_head);
      if (node.entry() != kNoEntry) return &node;
      ++control_->run_head;
    }
    return nullptr;
  }

  // Adds a node at the end of a run that is full.
  void push_full(const IndexNode& node) {
    compact_run();
    if (control_->run_tail - control_->run_head == control_->size) return push_heap(node);
    run_at(control_->run_tail) = node;
    ++control_->run_tail;
  }

  // Closes the gaps that remove() left in the run.
  void compact_run() {
    std::uint64_t to = control_->run_head;
    for (std::uint64_t from = control_->run_head; from != control_->run_tail; ++from) {
      if (run_at(from).entry() == kNoEntry) continue;
      if (to != from) run_at(to) = run_at(from);
      ++to;
    }
    control_->run_tail = to;
  }

  void push_heap(const IndexNode& node) {
    BEELINE_DCHECK(control_->heap_count < control_->size, control_->heap_count, control_->size);
    std::uint64_t i = control_->heap_count++;
    while (i != 0 && node.before(heap_[(i - 1) / 2])) {
      heap_[i] = heap_[(i - 1) / 2];
      i = (i - 1) / 2;
    }
    heap_[i] = node;
  }

  void remove_from_heap(std::uint64_t at) {
    const IndexNode last = heap_[--control_->heap_count];
    if (at == control_->heap_count) return;
    std::uint64_t i = at;
    while (i != 0 && last.before(heap_[(i - 1) / 2])) {
      heap_[i] = heap_[(i - 1) / 2];
      i = (i - 1) / 2;
    }
    const std::uint64_t count = control_->heap_count;
    std::uint64_t child = 2 * i + 1;
    for (; child + 1 < count; child = 2 * i + 1) {
      child += static_cast<std::uint64_t>(heap_[child + 1].before_branchless(heap_[child]));
      if (!heap_[child].before(last)) break;
      heap_[i] = heap_[child];
      i = child;
    }
    if (child + 1 == count && heap_[child].before(last)) {
      heap_[i] = heap_[child];
      i = child;
    }
    heap_[i] = last;
  }

  IndexControl* control_;
  IndexNode* run_;
  IndexNode* heap_;
};

}  // namespace beeline::shm
