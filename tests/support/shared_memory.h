#pragma once
// Memory that a test shares with the threads or processes that it starts: scoreboards, ledgers, and
// events to wait for. The stores of a killed process stay in it.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <beeline/types.h>

#include "src/os/fd.h"

namespace beeline::test {

class SharedMemory {
 public:
  SharedMemory() = default;
  // Makes `bytes` zero bytes; large ones are sparse. Ends the program if there is no memory.
  explicit SharedMemory(std::size_t bytes);
  // Maps the memory behind a descriptor that was inherited.
  SharedMemory(int fd, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  // REQUIRES: all zero bytes are a legal T, and T fits.
  template <typename T>
  [[nodiscard]] T& as() const {
    static_assert(std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T>);
    return *std::launder(reinterpret_cast<T*>(data_));
  }

 private:
  void map();
  os::UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A count that rises and that others wait for. Lives in shared memory and starts as zero bytes.
class Event {
 public:
  void raise(std::uint32_t by = 1);
  [[nodiscard]] std::uint32_t count() const { return count_.load(); }
  // Waits until the count has reached `at_least`. False at the deadline.
  [[nodiscard]] bool await(std::uint32_t at_least, Deadline deadline) const;
  // Waits until the count is no longer `seen`. False at the deadline.
  [[nodiscard]] bool await_change(std::uint32_t seen, Deadline deadline) const;

 private:
  std::atomic<std::uint32_t> count_;
};

}  // namespace beeline::test
