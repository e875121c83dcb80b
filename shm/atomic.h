#pragma once
// The one door to atomic memory. Every atomic that lies in a segment goes through `Atomic`, so that
// the explorer of interleavings can replace it. No algorithm spells a memory order: it says
// `publish`, `observe` or `relaxed_...`, and the reason stands here once.
//
//   publish / observe  release store and acquire load: writes before the publish are seen after the
//                      observe
//   relaxed_*          no order: for words that only their writer reads back, or that the reader
//                      checks in other ways
//   full_fence         store-load order (Dekker): after my store is visible, I load yours
//   crash_fence        orders the instruction stream only, for a reader that looks after my death

#ifdef BEELINE_EXPLORER  // the same words, watched; names the header
#include BEELINE_EXPLORER
#else

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace beeline::shm {

template <typename T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::atomic<T>::is_always_lock_free);

 public:
  Atomic() = default;
  explicit Atomic(T value) : value_(value) {}

  // SYNC(atomic.publish): release, pairs with observe().
  void publish(T value) { value_.store(value, std::memory_order_release); }
  // SYNC(atomic.publish): acquire, pairs with publish().
  [[nodiscard]] T observe() const { return value_.load(std::memory_order_acquire); }

  // relaxed: the caller orders it by a later publish or fence, or is the only writer reading its
  // own word.
  void relaxed_store(T value) { value_.store(value, std::memory_order_relaxed); }
  // relaxed: the caller orders it by an earlier observe or fence, or checks the value itself.
  [[nodiscard]] T relaxed_load() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

static_assert(sizeof(Atomic<std::uint64_t>) == 8);
static_assert(sizeof(Atomic<std::uint32_t>) == 4);

#if defined(__SANITIZE_THREAD__)
#define BEELINE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BEELINE_TSAN 1
#endif
#endif

// SYNC(fence.full): pairs with the full_fence of the other side; both sides of a store-load race
// need one.
inline void full_fence() {
#ifdef BEELINE_TSAN
  // SUBTLE: ThreadSanitizer does not model fences and GCC refuses them. A locked operation on a
  // word of this thread is the same barrier on the machine and adds no happens-before edge that
  // could hide a race.
  thread_local std::atomic<std::uint32_t> barrier{0};
  barrier.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// After a kill the memory holds a prefix of the retired instructions. Stores on both sides of this
// fence keep their order in the instruction stream; no instruction is emitted.
inline void crash_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace beeline::shm

#endif
