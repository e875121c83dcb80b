#pragma once
// Plain structs moved through shared memory word by word. This is the one place that reads bytes
// which a peer can write: each word once, by an atomic load into a local copy.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shm/atomic.h"

namespace beeline::shm {

// Both sides prefetch payloads of at most this size (docs/cache-lines.md, Prefetch distances).
inline constexpr std::size_t kBytesAhead = 4096;

// Prefetches the line at an address and the next one for writing. A hint: it changes nothing,
// whatever lies there (docs/cache-lines.md, Prefetch distances).
inline void prefetch_for_write(const void* pair) {
#if defined(__x86_64__)
  // SUBTLE: without -mprfchw compilers turn the builtin into a prefetch for reading. AMD's 64-bit
  // processors have always had this instruction, Intel's since Broadwell. Older ones execute it as
  // no operation (except the very first of 2004).
  asm volatile("prefetchw (%0)" : : "r"(pair));
  asm volatile("prefetchw 64(%0)" : : "r"(pair));
#else
  __builtin_prefetch(pair, 1);
  __builtin_prefetch(static_cast<const unsigned char*>(pair) + 64, 1);
  asm volatile("");  // see prefetch()
#endif
}

// Prefetches the line of a word for reading. Also a hint.
template <typename T>
inline void prefetch(const T& word) {
  __builtin_prefetch(&word);
  // SUBTLE: GCC considers a function that only prefetches to be without effect, and drops calls to
  // it that it does not inline.
  asm volatile("");
}

template <std::size_t kCount>
struct WordArray {
  Atomic<std::uint64_t> words[kCount];

  // Copies the first `bytes` bytes of `from` (at most 8 * kCount) into the words; the rest of the
  // last word is zero. relaxed: published by the word that the caller stores afterwards.
  [[gnu::always_inline]] void store_bytes(const void* from, std::size_t bytes) {
    const auto* source = static_cast<const unsigned char*>(from);
    if (bytes == 8 * kCount) return store_all(source);
    const std::size_t whole = bytes / 8;
    for (std::size_t i = 0; i < whole; ++i) store_word(i, source + 8 * i, 8);
    if (const std::size_t rest = bytes % 8; rest != 0) store_word(whole, source + 8 * whole, rest);
  }

  // Copies the words that hold the first `bytes` bytes into `to`, which has room for 8 * kCount
  // bytes. relaxed: the caller has observed the word that published them.
  [[gnu::always_inline]] void load_bytes(void* to, std::size_t bytes) const {
    auto* target = static_cast<unsigned char*>(to);
    const std::size_t count = (bytes + 7) / 8;
    if (count == kCount) return load_all(target);
    for (std::size_t i = 0; i < count; ++i) load_word(i, target + 8 * i);
  }

  template <typename T>
  void store(const T& value) {
    static_assert(sizeof(T) == 8 * kCount && std::is_trivially_copyable_v<T>);
    store_all(reinterpret_cast<const unsigned char*>(&value));
  }

  template <typename T>
  [[nodiscard]] T load() const {
    static_assert(sizeof(T) == 8 * kCount && std::is_trivially_copyable_v<T>);
    T value;
    load_all(reinterpret_cast<unsigned char*>(&value));
    return value;
  }

 private:
  void store_word(std::size_t at, const unsigned char* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    words[at].relaxed_store(word);
  }
  void load_word(std::size_t at, unsigned char* to) const {
    const std::uint64_t word = words[at].relaxed_load();
    std::memcpy(to, &word, 8);
  }
  // No loop: most copies are of full slots and headers.
  void store_all(const unsigned char* from) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kCount; ++i) store_word(i, from + 8 * i, 8);
  }
  void load_all(unsigned char* to) const {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kCount; ++i) load_word(i, to + 8 * i);
  }
};

}  // namespace beeline::shm
