#pragma once
// Payloads that are written and read whole: one number determines every byte, and every byte is
// checked.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace beeline::bench {

inline void write_whole(std::span<std::byte> payload, std::uint64_t number) {
  std::size_t at = 0;
  for (; at + 8 <= payload.size(); at += 8) std::memcpy(payload.data() + at, &number, 8);
  if (at < payload.size()) std::memcpy(payload.data() + at, &number, payload.size() - at);
}

// True if the payload is that of write_whole() for the number.
[[nodiscard]] inline bool read_whole(std::span<const std::byte> payload, std::uint64_t number) {
  std::uint64_t different = 0;
  std::size_t at = 0;
  for (; at + 8 <= payload.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, payload.data() + at, 8);
    different |= word ^ number;
  }
  if (at < payload.size()) {
    return different == 0 && std::memcmp(payload.data() + at, &number, payload.size() - at) == 0;
  }
  return different == 0;
}

}  // namespace beeline::bench
