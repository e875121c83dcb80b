#pragma once

// The text of a configuration with each ${NAME} and ${secrets.a.b} replaced, as Koshi does it:
// before the YAML is read. It remembers the place of each piece in the file, for the mistakes.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/yaml/mistakes.h"
#include "src/yaml/node.h"

namespace beeline::buffer {

// The value of a variable of the environment; nullopt if it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string&)>;
// The values of secrets.yaml by their path, "a.b".
using Secrets = std::map<std::string, std::string, std::less<>>;

class Expansion {
 public:
  // Notes each variable and each secret that does not exist. A line that is a comment stays as it
  // is. `original` must outlive this object.
  Expansion(std::string_view original, const Lookup& lookup, const Secrets& secrets,
            yaml::Mistakes& mistakes);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // The place in the file of a place in text(). A place in a value is that of its reference.
  [[nodiscard]] yaml::YamlMark original_mark(yaml::YamlMark mark) const;
  // Gives each node of a tree that was read from text() its place in the file.
  void restore_marks(yaml::YamlNode& node) const;

 private:
  struct Piece {
    std::size_t at = 0;        // in text_
    std::size_t original = 0;  // in original_
    bool is_value = false;
  };

  void replace_line(std::size_t begin, std::size_t end, const Lookup& lookup,
                    const Secrets& secrets, yaml::Mistakes& mistakes);
  void copy(std::size_t begin, std::size_t end);

  std::string_view original_;
  std::string text_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> lines_{};  // the begin of each line of text_
};

}  // namespace beeline::buffer
