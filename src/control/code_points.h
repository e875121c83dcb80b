#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace beeline::control {

struct CodePoint {
  char32_t code = 0;
  std::size_t length = 0;  // bytes
};

// The UTF-8 at the start of `text`; nothing for overlong forms, surrogates and numbers beyond
// U+10FFFF. REQUIRES: `text` is not empty.
[[nodiscard]] std::optional<CodePoint> first_code_point(std::string_view text);

// True if a terminal or an editor obeys the character, or shows nothing of it: control characters
// of both sets, line separators, marks of direction and formatting.
[[nodiscard]] bool is_steering(char32_t code);

// True if people see the character, and see it as itself: it may stand in a name.
[[nodiscard]] bool is_visible(char32_t code);

}  // namespace beeline::control
