#pragma once
// The bytes of a task or a result on their way into a message. A short form, as most are, takes no
// memory from the heap.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace beeline {

class FormBytes {
 public:
  FormBytes() = default;
  // The bytes are not set yet.
  explicit FormBytes(std::size_t size)
      : long_(size > kShort ? std::make_unique_for_overwrite<char[]>(size) : nullptr),
        size_(size) {}

  [[nodiscard]] std::span<char> room() { return {long_ ? long_.get() : short_, size_}; }
  [[nodiscard]] std::string_view text() const { return {long_ ? long_.get() : short_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(text()));
  }

 private:
  static constexpr std::size_t kShort = 256;

  char short_[kShort];
  std::unique_ptr<char[]> long_;
  std::size_t size_ = 0;
};

}  // namespace beeline
