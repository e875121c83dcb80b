#pragma once

#include <cstddef>
#include <new>

#include <beeline/result.h>

namespace beeline::bench::peers {

// Memory full of zeros that this process shares with the children that it forks.
class SharedMemory {
 public:
  // Errors: kSystem.
  [[nodiscard]] static Result<SharedMemory> create(std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  SharedMemory(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_;
  std::size_t bytes_;
};

// An object in such memory; never destroyed.
template <typename T>
class Shared {
 public:
  [[nodiscard]] static Result<Shared> create() {
    auto memory = SharedMemory::create(sizeof(T));
    if (!memory) return tl::unexpected(memory.error());
    new (memory->data()) T();
    return Shared(std::move(*memory));
  }
  [[nodiscard]] T* get() const { return std::launder(reinterpret_cast<T*>(memory_.data())); }
  T* operator->() const { return get(); }

 private:
  explicit Shared(SharedMemory memory) : memory_(std::move(memory)) {}
  SharedMemory memory_;
};

}  // namespace beeline::bench::peers
