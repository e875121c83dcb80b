#pragma once

// A document of YAML or JSON as a tree without anchors: each alias is expanded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace beeline::yaml {

// A place in a file, counted from 1.
struct YamlMark {
  int line = 1;
  int column = 1;
};

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  YamlMark mark{};
  std::string text{};
  std::vector<YamlNode> keys{};   // of a map; keys[i] belongs to items[i]
  std::vector<YamlNode> items{};  // of a list or a map
  std::size_t count = 1;          // nodes in this tree
  std::size_t height = 1;         // levels of this tree
};

// Something is wrong at a place of a file.
struct YamlMistake {
  YamlMark mark{};
  std::string text{};
};

}  // namespace beeline::yaml
