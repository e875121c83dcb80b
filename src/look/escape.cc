#include "src/look/escape.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace beeline::look {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Length of the printable UTF-8 sequence of more than one byte at the start of `text`, else 0.
std::size_t sequence_length(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const std::size_t length = first >= 0xf0 && first <= 0xf4   ? 4
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xc2 && first <= 0xdf ? 2
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte_at(text, i) & 0x3f);
  }
  const bool too_long = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  // C1 controls, and marks that change the direction of a line or are invisible.
  const bool control = point < 0xa0 || (point >= 0x200b && point <= 0x200f) ||
                       (point >= 0x2028 && point <= 0x202e) ||
                       (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
  return too_long || surrogate || control || point > 0x10ffff ? 0 : length;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const unsigned byte = byte_at(text, i);
    if (const std::size_t length = sequence_length(text.substr(i)); length != 0) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    ++i;
    if (byte == '\\') {
      out += "\\\\";
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += static_cast<char>(byte);
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string escape(std::span<const std::byte> bytes) {
  return escape(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace beeline::look
