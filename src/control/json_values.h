#pragma once

// JSON that others wrote: its shape before it is parsed, and its numbers.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beeline::control {

struct JsonShape {
  int depth = 0;           // how deep brackets nest
  std::size_t commas = 0;  // outside of strings
};

// Stops counting where the brackets nest deeper than `most_depth`.
[[nodiscard]] inline JsonShape shape_of_json(std::string_view text, int most_depth) {
  JsonShape shape;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && shape.depth <= most_depth; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      shape.depth = std::max(shape.depth, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      ++shape.commas;
    }
  }
  return shape;
}

// False: it is no whole number, or does not fit into `to`, which stays as it was.
template <std::integral Number>
[[nodiscard]] bool take_json_number(const nlohmann::json& json, Number& to) {
  if (!json.is_number_integer()) return false;
  const bool fits = json.is_number_unsigned() ? std::in_range<Number>(json.get<std::uint64_t>())
                                              : std::in_range<Number>(json.get<std::int64_t>());
  if (fits) to = json.get<Number>();
  return fits;
}

}  // namespace beeline::control
