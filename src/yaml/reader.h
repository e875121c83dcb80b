#pragma once

#include <cstddef>
#include <string_view>

#include <tl/expected.hpp>

#include "src/yaml/node.h"

namespace beeline::yaml {

inline constexpr std::size_t kMaxYamlBytes = 1 << 20;
inline constexpr std::size_t kMaxYamlDepth = 64;
// Aliases count as often as they are used, and what an anchor names counts twice.
inline constexpr std::size_t kMaxYamlNodes = 100'000;

// Reads one document of UTF-8. The limits bound its time and memory for any bytes.
[[nodiscard]] tl::expected<YamlNode, YamlMistake> read_yaml(std::string_view text);

}  // namespace beeline::yaml
