#include "src/control/quotes.h"

#include <cstdint>

#include <fmt/format.h>

#include "src/control/code_points.h"

namespace beeline::control {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto next = first_code_point(text.substr(i));
    if (!next || (next->code < 0x80 && is_steering(next->code))) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else if (is_steering(next->code)) {
      result += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(next->code));
    } else {
      if (next->code == '"' || next->code == '\\') result += '\\';
      result += text.substr(i, next->length);
    }
    i += next ? next->length : 1;
  }
  result += '"';
  return result;
}

}  // namespace beeline::control
