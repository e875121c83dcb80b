#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace beeline::spool {

// A file name of a stranger, safe for a terminal and on one line: control characters and bytes
// beyond ASCII as \xNN.
[[nodiscard]] inline std::string printable(std::string_view name) {
  std::string text;
  for (const char byte : name) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x20 || value >= 0x7f) {
      text += fmt::format("\\x{:02x}", value);
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace beeline::spool
