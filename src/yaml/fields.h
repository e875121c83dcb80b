#pragma once

// The keys and values of one map, and the reading of its values. Each mistake is noted with its
// place, so that a reader goes on and finds the others.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/yaml/mistakes.h"
#include "src/yaml/node.h"

namespace beeline::yaml {

class YamlFields {
 public:
  struct Pair {
    std::string key{};
    const YamlNode* at = nullptr;  // the key
    const YamlNode* value = nullptr;
    bool is_taken = false;
  };

  // `what` names the map in the texts. Notes another type, keys that are no text, and a second key
  // of the same name. `node` must outlive this object.
  YamlFields(const YamlNode& node, std::string_view what, Mistakes& mistakes);

  // The value of a key; null if the map does not have it.
  [[nodiscard]] const YamlNode* take(std::string_view key);
  [[nodiscard]] const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  // Notes each key that was not taken.
  void refuse_others();
  // Warns of each key that was not taken.
  void warn_of_others();

 private:
  std::string what_;
  Mistakes& mistakes_;
  std::vector<Pair> pairs_;
  std::vector<std::string> asked_;
};

// Bounds of a number, included.
struct YamlRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// The value of a node; nullopt after it noted a mistake. `what` is the key.
[[nodiscard]] std::optional<std::string> yaml_text(const YamlNode& node, std::string_view what,
                                                   Mistakes& mistakes);
[[nodiscard]] std::optional<std::uint64_t> yaml_number(const YamlNode& node, std::string_view what,
                                                       YamlRange range, Mistakes& mistakes);
// A whole number that may be negative.
[[nodiscard]] std::optional<std::int32_t> yaml_integer(const YamlNode& node, std::string_view what,
                                                       Mistakes& mistakes);
// `true` or `false`.
[[nodiscard]] std::optional<bool> yaml_flag(const YamlNode& node, std::string_view what,
                                            Mistakes& mistakes);
// Bytes: "512M", with K, M or G of 1,024; a bare number is bytes.
[[nodiscard]] std::optional<std::uint64_t> yaml_size(const YamlNode& node, std::string_view what,
                                                     YamlRange range, Mistakes& mistakes);
// "500ms", "10s", "1m", "1h"; a bare number is seconds. The range is in milliseconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> yaml_duration(const YamlNode& node,
                                                                     std::string_view what,
                                                                     YamlRange range,
                                                                     Mistakes& mistakes);

}  // namespace beeline::yaml
