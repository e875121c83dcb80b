#pragma once
// The memory model: every word has a history of all stores to it, and every thread a view that says
// which part of each history it can no longer miss.
//
// store    appends to the history of the word. Each word has one writer for life (the rule of the
// engine; breaking it is an error here), so a history is in program order
// load     returns any store from the thread's view of the word on; the caller chooses which
// publish  the store carries the writer's view; an observe that reads it takes that view over
// fence    full fences are totally ordered; each takes over the views of all before it
// early    a relaxed load that nothing keeps in its place may be overtaken by a later store of
// its
// thread. So a thread that overwrites a word of a message (shm/words.h) because of a store
// after such a load must happen after that load; otherwise the load could return that very
// store, which is an error here
// plain    memory that is not atomic: a reader must have seen the last store to it, and a writer
// the last read of it; anything else is a data race
//
// This is release/acquire with sequentially consistent fences as RC11 has it. RC11 forbids that a
// load returns a store which it caused; processors do not, hence the rule about early stores.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace beeline::explore {

inline constexpr int kMaxThreads = 4;
inline constexpr int kNobody = kMaxThreads;  // the state before the threads start

// The knowledge of each location: the number of the oldest store that may still be read. The first
// places count the loads of each thread, so that they travel with everything else: they say which
// loads happened before.
class View {
 public:
  [[nodiscard]] std::uint16_t of(std::size_t location) const {
    return location < known_.size() ? known_[location] : 0;
  }
  void raise(std::size_t location, std::size_t to) {
    if (known_.size() <= location) known_.resize(location + 1);
    if (known_[location] < to) known_[location] = static_cast<std::uint16_t>(to);
  }
  void set(std::size_t location, std::size_t to) {
    raise(location, 0);
    known_[location] = static_cast<std::uint16_t>(to);
  }
  void join(const View& other) {
    if (known_.size() < other.known_.size()) known_.resize(other.known_.size());
    for (std::size_t i = 0; i < other.known_.size(); ++i) {
      if (known_[i] < other.known_[i]) known_[i] = other.known_[i];
    }
  }
  void clear() { known_.clear(); }

 private:
  std::vector<std::uint16_t> known_;
};

// Everything that happened before, synchronised or not: for each thread its steps so far. Swapping
// two steps is only worth another execution if neither causes the other.
struct Causes {
  std::array<std::uint32_t, kMaxThreads> steps{};
  void join(const Causes& other) {
    for (int i = 0; i < kMaxThreads; ++i) {
      if (steps[i] < other.steps[i]) steps[i] = other.steps[i];
    }
  }
};

struct Store {
  std::uint64_t bits = 0;
  std::uint32_t view = 0;  // in Memory::views; an acquiring reader takes it over
  Causes causes;
  std::uint8_t thread = kNobody;
  bool release = false;
  bool seen = false;  // another thread has read it
  bool lost = false;  // its writer was killed before it took place
};

// A load that could have read a later store in another schedule.
struct Load {
  std::uint32_t node;  // in the explorer's path
  std::uint32_t step;  // of its thread, in Causes
  std::uint32_t read;  // of its thread, in View
  std::uint8_t thread;
  bool may_be_late;  // nothing keeps it before later accesses
};

struct Location {
  std::byte* at = nullptr;
  std::uint8_t size = 8;
  std::uint8_t writer = kNobody;
  bool plain = false;
  std::vector<Store> stores;  // the first one is the value before the threads started
  std::vector<Load> loads;
  std::array<std::uint16_t, kMaxThreads> plain_reads{};

  [[nodiscard]] std::size_t last_kept() const {
    std::size_t i = stores.size() - 1;
    while (stores[i].lost) --i;
    return i;
  }
};

// Segments lie in one arena, so that the offset of a word finds it.
inline constexpr std::size_t kArenaBytes = std::size_t{16} << 20;
[[nodiscard]] std::byte* arena();

class Memory {
 public:
  Memory();
  // Forgets everything; the arena keeps its bytes.
  void clear();

  // The location of an aligned word; a new one starts with the present value.
  [[nodiscard]] std::size_t find(const void* at, std::size_t size);
  [[nodiscard]] Location& operator[](std::size_t location) { return locations_[location]; }
  [[nodiscard]] std::size_t end() const { return count_; }

  [[nodiscard]] std::uint32_t keep(const View& view);
  [[nodiscard]] const View& view(std::uint32_t kept) const { return views_[kept]; }

  // The first location; the numbers below are those of the threads' loads.
  static constexpr std::size_t kFirst = kMaxThreads;

 private:
  std::vector<std::uint16_t> index_;  // location of each 4 bytes of the arena, 0 = none
  std::vector<Location> locations_;
  std::size_t count_ = kFirst;
  std::vector<View> views_;
  std::uint32_t view_count_ = 0;
};

}  // namespace beeline::explore
