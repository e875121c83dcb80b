#pragma once
// Payload memory of a link, as its owner manages it: free lists and generations are private,
// nothing of them is shared.
//
//   free --take()--> loaned --(in a slot, with its generation)--> out --(stamp equals it)--> free
//                      |                                               collect()
//                      +--put_back() (never published)--> free
//
// The receiver finishes a slab by storing the generation as its stamp: idempotent, so no crash can
// free a slab twice or leak it. A stamp that is higher than any generation given out is a lie and
// is ignored. A new life of the receiver has its stamps from the one before, lies and all: those
// are void, and their slabs are finished unless their messages still lie in a lane. What lies there
// is not finished, whatever an inherited stamp says: the new life takes it, once more perhaps.

#include <algorithm>
#include <bitset>

#include "shm/link.h"

namespace beeline::shm {

class SlabPool {
 public:
  explicit SlabPool(const LinkLayout& layout) : layout_(layout) {}

  struct Loan {
    std::uint32_t slab = kNoSlab;
    std::uint64_t generation = 0;
  };

  // The smallest class whose slabs hold `bytes`; kSlabClasses when none does.
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
        return {slab, generation_[slab]};
      }
    }
    return {};
  }

  // The slab that take() would give first, kNoSlab where it would have to look for one.
  [[nodiscard]] std::uint32_t next(std::size_t slab_class) const {
    const std::uint32_t slab = layout_.classes[slab_class].first + next_[slab_class];
    return state_[slab] == State::kFree ? slab : kNoSlab;
  }

  // Gives back a loan that was never published. REQUIRES: it came from take().
  void put_back(const Loan& loan) {
    state_[loan.slab] = State::kFree;
    --loaned_;
  }

  // The message of this slab is not taken yet, although somebody has said that it was finished: it
  // is out again, unless it was given to another message since.
  void take_back(const Loan& loan) {
    if (state_[loan.slab] != State::kFree || generation_[loan.slab] != loan.generation) return;
    if (is_mutant(Mutant::kSlabNotTakenBack)) return;
    state_[loan.slab] = State::kOut;
    ++out_;
  }

  // The loan is in a slot now.
  void mark_out(const Loan& loan) {
    state_[loan.slab] = State::kOut;
    --loaned_;
    ++out_;
  }

  // Frees every slab of the class whose stamp equals its generation, but for the `unread`, whose
  // messages no life has taken: theirs were inherited. Returns how many. Where there are any,
  // `counts()` is asked after they were read whether they are to be heard.
  // REQUIRES: the stamps of the bank are ready; the receipts were looked at before.
  // SYNC(slab.stamp): acquire, pairs with stamp(); the memory may be written again after it.
  template <typename T, typename Counts = Always>
  std::uint32_t collect(std::size_t slab_class, const BasicLink<T>& opposite, std::size_t bank,
                        const std::bitset<kMaxSlabs>& unread = {}, const Counts& counts = {}) {
    const std::uint32_t first = layout_.classes[slab_class].first;
    std::bitset<kMaxSlabs> finished;
    for (std::uint32_t slab = first; slab < first + allocated_[slab_class]; ++slab) {
      if (state_[slab] != State::kOut) continue;
      if (unread[slab] && !is_mutant(Mutant::kUnreadCollected)) continue;
      const std::uint64_t stamped = opposite.stamp(bank, slab).observe();
      if (is_void(slab, stamped)) continue;
      const bool above = stamped > generation_[slab];
      if (above) lied_to_ = true;
      if (stamped != generation_[slab] && !(above && is_mutant(Mutant::kStampAboveBelieved))) {
        continue;
      }
      finished.set(slab);
    }
    if (finished.none() || !counts()) return 0;
    for (std::uint32_t slab = first; slab < first + allocated_[slab_class]; ++slab) {
      if (finished[slab]) state_[slab] = State::kFree;
    }
    out_ -= static_cast<std::uint32_t>(finished.count());
    return static_cast<std::uint32_t>(finished.count());
  }

  // The bank is that of a new life of the receiver: what cannot be in it was taken over from the
  // life before, and is void. Who takes over believes a stamp that is too high as well, so those
  // slabs are free but for the `unread`, whose messages no life has taken.
  // REQUIRES: the stamps of the bank are ready; no slab was collected from it yet. They were stored
  // before the directory named that life, so having seen its name there has ordered them.
  template <typename T>
  void inherit(const BasicLink<T>& opposite, std::size_t bank,
               const std::bitset<kMaxSlabs>& unread) {
    void_.fill(0);
    for (std::uint32_t slab = 0; slab < layout_.total_slabs(); ++slab) {
      const std::uint64_t stamped = opposite.stamp(bank, slab).relaxed_load();
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
  // A stamp was a lie since the last listen_anew().
  [[nodiscard]] bool lied_to() const { return lied_to_; }
  void listen_anew() { lied_to_ = false; }

 private:
  enum class State : std::uint8_t { kFree = 0, kLoaned = 1, kOut = 2 };

  // Whose turn it is next among `count` slabs: every third first, then those behind them, so that
  // of five and more none follows its neighbour. A CPU that reads the lines of a slab runs ahead
  // into the slab behind it, and would take the lines of the next payload away from whoever is
  // about to write it.
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

// A message that comes out of its lane in this slab is not finished: a stamp that says so was
// inherited, and is a lie or that of a life which was fenced. Whoever inherits from us would
// believe it. REQUIRES: its drain is not committed yet. relaxed: the commit, which is published
// later, keeps it before the entry that it would contradict; the sender takes neither value for
// finished.
inline void withdraw_stamp(Atomic<std::uint64_t>& stamp, std::uint64_t generation) {
  if (is_mutant(Mutant::kFalseStampKept)) return;
  if (stamp.relaxed_load() >= generation) stamp.relaxed_store(generation - 1);
}

}  // namespace beeline::shm
