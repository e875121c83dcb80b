#pragma once
// Plain structs moved through shared memory word by word. Bytes that a peer can write are read
// once, by atomic loads into a local copy; this is the one place that does it.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shm/atomic.h"

namespace beeline::shm {

// Payloads of at most so many bytes are asked for ahead, by either side. Of longer ones the first
// lines are a small part, or nobody touches them.
inline constexpr std::size_t kBytesAhead = 4096;

// Asks for the line at an address and the one behind it, to be written soon: what another CPU has
// read is fetched while other work goes on. A hint; says and changes nothing, whatever lies there.
inline void prefetch_for_write(const void* pair) {
#if defined(__x86_64__)
  // SUBTLE: without -mprfchw compilers make a prefetch for reading of the builtin. AMD's processors
  // have had the instruction from their first one of 64 bits on, Intel's since Broadwell; those
  // before take it for no operation (but the very first, of 2004).
  asm volatile("prefetchw (%0)" : : "r"(pair));
  asm volatile("prefetchw 64(%0)" : : "r"(pair));
#else
  __builtin_prefetch(pair, 1);
  __builtin_prefetch(static_cast<const unsigned char*>(pair) + 64, 1);
  asm volatile("");  // see prefetch()
#endif
}

// Asks for the line of a word, to be read soon. A hint as well.
template <typename T>
inline void prefetch(const T& word) {
  __builtin_prefetch(&word);
  // SUBTLE: GCC takes a function that does nothing else for one without effect, and leaves out the
  // calls to it that it has not taken into their callers.
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
  // Full slots and headers are most of what there is: no loop.
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
