#pragma once
// Payload memory of a link, as its owner manages it. Free lists and generations are private to the
// owner.
//
//   free --take()--> loaned --(in a slot, with its generation)--> out --(stamp equals it)--> free
//                      |                                               collect()
//                      +--put_back() (never published)--> free
//
// The receiver finishes a slab by storing the generation as its stamp. That is idempotent, so no
// crash can free a slab twice or leak it. A stamp above every generation given out is a lie; the
// owner ignores it. A new life of the receiver inherits the stamps of the life before, lies too.
// Inherited lies are void: their slabs count as finished unless their messages still lie in a lane.
// A message that still lies in a lane is not finished, whatever an inherited stamp says: the new
// life takes it, perhaps once more.

#include <algorithm>
#include <bitset>

#include "shm/check.h"
#include "shm/link.h"

namespace beeline::shm {

class SlabPool {
 public:
  explicit SlabPool(const LinkLayout& layout) : layout_(layout) {}

  struct Loan {
    SlabIndex slab = kNoSlab;
    std::uint64_t generation = 0;
  };

  // The smallest class with slabs that hold `bytes`; kSlabClasses when none does.
  [[nodiscard]] std::size_t class_for(std::uint64_t bytes) const {
    for (std::size_t i = 0; i < kSlabClasses; ++i) {
      if (layout_.classes[i].count != 0 && bytes <= layout_.classes[i].slab_bytes) return i;
    }
    return kSlabClasses;
  }

  // A free slab of the class, with the generation it will carry. slab == kNoSlab when none is free.
  [[nodiscard]] Loan take(std::size_t slab_class) {
    const std::uint32_t first = layout_.classes[slab_class].first;
    for (std::uint32_t i = 0; i < allocated_[slab_class]; ++i) {
      std::uint32_t& hint = next_[slab_class];
      const std::uint32_t slab = first + hint;
      hint = turn_after(hint, allocated_[slab_class]);
      if (state_[slab] == State::kFree) {
        state_[slab] = State::kLoaned;
        ++loaned_;
        ++generation_[slab];
        if (is_void(slab, generation_[slab])) ++generation_[slab];
        return {SlabIndex(slab), generation_[slab]};
      }
    }
    return {};
  }

  // The slab that take() would give if its first look finds it free; kNoSlab otherwise.
  [[nodiscard]] SlabIndex next(std::size_t slab_class) const {
    const std::uint32_t slab = layout_.classes[slab_class].first + next_[slab_class];
    return state_[slab] == State::kFree ? SlabIndex(slab) : kNoSlab;
  }

  // Gives back a loan that was never published.
  void put_back(const Loan& loan) {
    require_loaned(loan);
    state_[loan.slab.value()] = State::kFree;
    --loaned_;
  }

  // Marks a slab as out again: its message is not taken yet, although a life of the receiver
  // stamped it as finished. Does nothing if the slab was given to another message since.
  void take_back(const Loan& loan) {
    if (state_[loan.slab.value()] != State::kFree ||
        generation_[loan.slab.value()] != loan.generation)
      return;
    state_[loan.slab.value()] = State::kOut;
    ++out_;
  }

  // The loan is in a slot now.
  void mark_out(const Loan& loan) {
    require_loaned(loan);
    state_[loan.slab.value()] = State::kOut;
    --loaned_;
    ++out_;
  }

  // Frees every slab of the class with a stamp equal to its generation. Returns how many. Skips the
  // `unread` slabs: no life of the receiver has taken their messages, so their stamps were
  // inherited. If a slab is finished, calls `counts()` after reading the stamps: false means that
  // this receiver no longer counts, and nothing is freed. REQUIRES: the stamps of the bank are
  // ready; the receipts were looked at before.
  // SYNC(slab.stamp): acquire, pairs with stamp(); the memory may be written again after it.
  template <typename T, typename Counts = Always>
  std::uint32_t collect(std::size_t slab_class, const BasicLink<T>& opposite, std::size_t bank,
                        const std::bitset<kMaxSlabs>& unread = {}, const Counts& counts = {}) {
    const std::uint32_t first = layout_.classes[slab_class].first;
    std::bitset<kMaxSlabs> finished;
    for (std::uint32_t slab = first; slab < first + allocated_[slab_class]; ++slab) {
      if (state_[slab] != State::kOut) continue;
      if (unread[slab]) continue;
      const std::uint64_t stamped = opposite.stamp(bank, SlabIndex(slab)).observe();
      if (is_void(slab, stamped)) continue;
      if (stamped > generation_[slab]) lied_to_ = true;
      if (stamped != generation_[slab]) continue;
      finished.set(slab);
    }
    if (finished.none() || !counts()) return 0;
    for (std::uint32_t slab = first; slab < first + allocated_[slab_class]; ++slab) {
      if (finished[slab]) state_[slab] = State::kFree;
    }
    out_ -= static_cast<std::uint32_t>(finished.count());
    return static_cast<std::uint32_t>(finished.count());
  }

  // Takes over the bank of a new life of the receiver. An impossible stamp in it was inherited from
  // the life before, and is void. The new life believes such a stamp too and will not stamp those
  // slabs, so they are free, except the `unread` ones: no life has taken their messages.
  // REQUIRES: the stamps of the bank are ready; no slab was collected from it yet. relaxed: they
  // were stored before the directory named that life, and the caller has observed that name.
  template <typename T>
  void inherit(const BasicLink<T>& opposite, std::size_t bank,
               const std::bitset<kMaxSlabs>& unread) {
    void_.fill(0);
    for (std::uint32_t slab = 0; slab < layout_.total_slabs(); ++slab) {
      const std::uint64_t stamped = opposite.stamp(bank, SlabIndex(slab)).relaxed_load();
      if (stamped <= generation_[slab]) continue;
      void_[slab] = stamped;
      if (state_[slab] != State::kOut || unread[slab]) continue;
      state_[slab] = State::kFree;
      --out_;
    }
  }

  // `count` slabs of the class are allocated now.
  void set_allocated(std::size_t slab_class, std::uint32_t count) {
    allocated_[slab_class] = count;
  }
  [[nodiscard]] std::uint32_t allocated(std::size_t slab_class) const {
    return allocated_[slab_class];
  }
  [[nodiscard]] std::uint32_t out() const { return out_; }
  // Slabs of the class that are loaned or out.
  [[nodiscard]] std::uint32_t busy(std::size_t slab_class) const {
    const auto first = state_.begin() + layout_.classes[slab_class].first;
    return static_cast<std::uint32_t>(std::count_if(
        first, first + allocated_[slab_class], [](State state) { return state != State::kFree; }));
  }
  [[nodiscard]] std::uint32_t loaned() const { return loaned_; }
  // True if a stamp was a lie since the last listen_anew().
  [[nodiscard]] bool lied_to() const { return lied_to_; }
  void listen_anew() { lied_to_ = false; }

 private:
  enum class State : std::uint8_t { kFree = 0, kLoaned = 1, kOut = 2 };

  void require_loaned(const Loan& loan) const {
    BEELINE_DCHECK(loan.slab.value() < kMaxSlabs, loan.slab);
    BEELINE_DCHECK(state_[loan.slab.value()] == State::kLoaned, loan.slab,
                   state_[loan.slab.value()]);
    BEELINE_DCHECK(generation_[loan.slab.value()] == loan.generation, loan.slab, loan.generation,
                   generation_[loan.slab.value()]);
  }

  // The slab to try next among `count`: every third one first, then those behind them, so that with
  // five or more no slab follows its neighbour (docs/cache-lines.md, Prefetch distances).
  [[nodiscard]] static std::uint32_t turn_after(std::uint32_t turn, std::uint32_t count) {
    constexpr std::uint32_t kStride = 3;
    if (turn + kStride < count) return turn + kStride;
    const std::uint32_t next = turn % kStride + 1;
    return next < std::min(kStride, count) ? next : 0;
  }

  [[nodiscard]] bool is_void(std::uint32_t slab, std::uint64_t stamped) const {
    return stamped != 0 && void_[slab] == stamped;
  }

  LinkLayout layout_;
  std::array<State, kMaxSlabs> state_{};
  std::array<std::uint64_t, kMaxSlabs> generation_{};
  std::array<std::uint64_t, kMaxSlabs> void_{};  // stamps that count as none, 0 = no such
  std::array<std::uint32_t, kSlabClasses> allocated_{};
  std::array<std::uint32_t, kSlabClasses> next_{};
  std::uint32_t out_ = 0;
  std::uint32_t loaned_ = 0;
  bool lied_to_ = false;
};

// The receiver's side: this slab is finished. SYNC(slab.stamp): release, pairs with
// SlabPool::collect().
inline void stamp(Atomic<std::uint64_t>& word, std::uint64_t generation) {
  word.publish(generation);
}

// Takes back an inherited stamp of a slab whose message comes out of its lane now. The message is
// not finished: the stamp is a lie, or comes from a life that was fenced. A successor of ours would
// believe it. REQUIRES: its drain is not committed yet. relaxed: the commit is published later and
// keeps this store before the entry that the stamp would contradict; the sender takes neither value
// for finished.
inline void withdraw_stamp(Atomic<std::uint64_t>& stamp, std::uint64_t generation) {
  if (stamp.relaxed_load() >= generation) stamp.relaxed_store(generation - 1);
}

}  // namespace beeline::shm
