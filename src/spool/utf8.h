#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beeline::spool {

// Bytes of the UTF-8 character at the start of the text; 0 if there is none. REQUIRES: not empty.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer forms than needed, surrogates, and numbers beyond the last character.
  const bool is_bad = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return is_bad ? 0 : length;
}

[[nodiscard]] inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Appends the character of this number. REQUIRES: at most 0x10ffff, and no surrogate.
inline void append_utf8(std::string& out, std::uint32_t number) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto put_tail = [&put, number](std::uint32_t shift) {
    put(0x80U | ((number >> shift) & 0x3fU));
  };
  if (number < 0x80) return put(number);
  if (number < 0x800) {
    put(0xc0U | (number >> 6U));
    return put_tail(0);
  }
  if (number < 0x10000) {
    put(0xe0U | (number >> 12U));
  } else {
    put(0xf0U | (number >> 18U));
    put_tail(12);
  }
  put_tail(6);
  put_tail(0);
}

}  // namespace beeline::spool
