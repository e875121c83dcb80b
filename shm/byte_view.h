#pragma once
// A bounded look at untrusted bytes: a copy of a segment, perhaps cut short, perhaps random. Every
// read gives its offset and is checked; a read that does not lie inside yields zero. No read
// depends on alignment.
//
// The bytes are a private copy, so plain loads are enough. REQUIRES: no thread writes them
// meanwhile.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace beeline::shm {

class ByteView {
 public:
  ByteView() = default;
  explicit ByteView(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }

  // True if [offset, offset + length) lies inside; cannot overflow.
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }

  // A private copy of the value at `offset`, all zero when it does not lie inside.
  template <typename T>
  [[nodiscard]] T load(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (contains(offset, sizeof(T))) std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const {
    return load<std::uint64_t>(offset);
  }
  [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const {
    return load<std::uint32_t>(offset);
  }
  [[nodiscard]] std::uint16_t u16(std::uint64_t offset) const {
    return load<std::uint16_t>(offset);
  }

  // The part [offset, offset + length), cut to the bytes that lie inside.
  [[nodiscard]] std::span<const std::byte> part(std::uint64_t offset, std::uint64_t length) const {
    if (offset >= bytes_.size()) return {};
    const std::uint64_t rest = bytes_.size() - offset;
    return bytes_.subspan(offset, length < rest ? length : rest);
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace beeline::shm
