#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace beeline {

/// The bytes that a call sends, from a text or from any contiguous bytes. Refers to them, so it
/// must not outlive them.
class Payload {
 public:
  Payload() = default;
  template <std::convertible_to<std::string_view> Text>
  Payload(const Text& text) {  // NOLINT(google-explicit-constructor): a text is a payload
    const std::string_view view(text);
    bytes_ = {reinterpret_cast<const std::byte*>(view.data()), view.size()};
  }
  template <std::convertible_to<std::span<const std::byte>> Bytes>
  Payload(const Bytes& bytes) : bytes_(bytes) {}  // NOLINT(google-explicit-constructor): the same

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_{};
};

}  // namespace beeline
