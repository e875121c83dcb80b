#pragma once
// Plain structs moved through shared memory word by word. Bytes that a peer can write are read
// once, by atomic loads into a local copy; this is the one place that does it.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shm/atomic.h"

namespace beeline::shm {

template <std::size_t kCount>
struct WordArray {
  Atomic<std::uint64_t> words[kCount];

  // Copies the first `bytes` bytes of `from` (at most 8 * kCount) into the words; the rest of the
  // last word is zero. relaxed: published by the word that the caller stores afterwards.
  void store_bytes(const void* from, std::size_t bytes) {
    const std::size_t whole = bytes / 8;
    const auto* source = static_cast<const unsigned char*>(from);
    for (std::size_t i = 0; i < whole; ++i) {
      std::uint64_t word;
      std::memcpy(&word, source + 8 * i, 8);
      words[i].relaxed_store(word);
    }
    if (const std::size_t rest = bytes % 8; rest != 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, source + 8 * whole, rest);
      words[whole].relaxed_store(word);
    }
  }

  // Copies the words that hold the first `bytes` bytes into `to`, which has room for 8 * kCount
  // bytes. relaxed: the caller has observed the word that published them.
  void load_bytes(void* to, std::size_t bytes) const {
    auto* target = static_cast<unsigned char*>(to);
    const std::size_t count = (bytes + 7) / 8;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t word = words[i].relaxed_load();
      std::memcpy(target + 8 * i, &word, 8);
    }
  }

  template <typename T>
  void store(const T& value) {
    static_assert(sizeof(T) == 8 * kCount && std::is_trivially_copyable_v<T>);
    store_bytes(&value, sizeof(T));
  }

  template <typename T>
  [[nodiscard]] T load() const {
    static_assert(sizeof(T) == 8 * kCount && std::is_trivially_copyable_v<T>);
    T value;
    load_bytes(&value, sizeof(T));
    return value;
  }
};

}  // namespace beeline::shm
