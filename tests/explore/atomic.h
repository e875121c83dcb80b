#pragma once
// `shm::Atomic` and its fences as the explorer sees them: every access of the real headers comes
// here with its place in the source. shm/atomic.h takes this header instead of its own if
// BEELINE_EXPLORER is defined. Size and layout are the same: the history of a word is kept
// elsewhere, under its address.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace beeline::explore {

// The place of an access in the source.
struct Place {
  const char* file;
  int line;
};

enum class Order : std::uint8_t {
  kRelaxed,
  kStrong,  // release for a store, acquire for a load
};

[[nodiscard]] std::uint64_t load(const void* at, std::size_t size, Order order, Place place);
void store(void* at, std::size_t size, std::uint64_t bits, Order order, Place place);
void full_fence(Place place);
void crash_fence(Place place);

}  // namespace beeline::explore

namespace beeline::shm {

template <typename T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);

 public:
  Atomic() = default;
  explicit Atomic(T value) : value_(value) {}

  void publish(T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    store(value, explore::Order::kStrong, {file, line});
  }
  [[nodiscard]] T observe(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return load(explore::Order::kStrong, {file, line});
  }
  void relaxed_store(T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    store(value, explore::Order::kRelaxed, {file, line});
  }
  [[nodiscard]] T relaxed_load(const char* file = __builtin_FILE(),
                               int line = __builtin_LINE()) const {
    return load(explore::Order::kRelaxed, {file, line});
  }

 private:
  void store(T value, explore::Order order, explore::Place place) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    explore::store(this, sizeof(T), bits, order, place);
  }
  [[nodiscard]] T load(explore::Order order, explore::Place place) const {
    const std::uint64_t bits = explore::load(this, sizeof(T), order, place);
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

  T value_{};
};

inline void full_fence(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  explore::full_fence({file, line});
}
inline void crash_fence(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  explore::crash_fence({file, line});
}

}  // namespace beeline::shm
