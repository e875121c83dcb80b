#include "src/buffer/expansion.h"

#include <algorithm>

#include <fmt/format.h>

namespace beeline::buffer {
namespace {

constexpr std::string_view kSecretPrefix = "secrets.";

yaml::YamlMark mark_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<int>(line), static_cast<int>(at - begin) + 1};
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '#';
}

// The value of a reference, or a mistake at its place.
std::optional<std::string> value_of_reference(const std::string& name, const Lookup& lookup,
                                              const Secrets& secrets, std::string& mistake) {
  if (name.starts_with(kSecretPrefix)) {
    const std::string path = name.substr(kSecretPrefix.size());
    const auto found = secrets.find(path);
    if (found != secrets.end()) return found->second;
    mistake = fmt::format(
        "Secret \"{}\" is referenced in config but not found in secrets.yaml; add it there", path);
    return std::nullopt;
  }
  if (auto value = lookup ? lookup(name) : std::nullopt) return value;
  mistake = fmt::format(
      "Environment variable \"{}\" is referenced in config but not set; set it, or write its value",
      name);
  return std::nullopt;
}

}  // namespace

Expansion::Expansion(std::string_view original, const Lookup& lookup, const Secrets& secrets,
                     yaml::Mistakes& mistakes)
    : original_(original) {
  std::size_t begin = 0;
  while (begin < original.size()) {
    const std::size_t end = std::min(original.find('\n', begin), original.size() - 1) + 1;
    if (is_comment(original.substr(begin, end - begin))) {
      copy(begin, end);
    } else {
      replace_line(begin, end, lookup, secrets, mistakes);
    }
    begin = end;
  }
  lines_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    lines_.push_back(at + 1);
  }
}

void Expansion::copy(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  pieces_.push_back({text_.size(), begin, false});
  text_ += original_.substr(begin, end - begin);
}

void Expansion::replace_line(std::size_t begin, std::size_t end, const Lookup& lookup,
                             const Secrets& secrets, yaml::Mistakes& mistakes) {
  const std::string_view until_end = original_.substr(0, end);
  for (;;) {
    const std::size_t found = until_end.find("${", begin);
    const std::size_t close = until_end.find('}', found);  // npos is past the end, too
    if (found == std::string_view::npos || close == std::string_view::npos) break;
    copy(begin, found);
    const std::string name(until_end.substr(found + 2, close - found - 2));
    std::string mistake;
    if (const auto value = value_of_reference(name, lookup, secrets, mistake)) {
      pieces_.push_back({text_.size(), found, true});
      text_ += *value;
    } else {
      mistakes.add(mark_at(original_, found), mistake);
    }
    begin = close + 1;
  }
  copy(begin, end);
}

yaml::YamlMark Expansion::original_mark(yaml::YamlMark mark) const {
  if (pieces_.empty()) return mark;
  const auto line = std::clamp<std::size_t>(static_cast<std::size_t>(mark.line), 1, lines_.size());
  const std::size_t at = lines_[line - 1] + static_cast<std::size_t>(mark.column) - 1;
  auto piece = std::ranges::upper_bound(pieces_, at, {}, &Piece::at);
  if (piece != pieces_.begin()) --piece;
  const std::size_t offset = piece->is_value || at < piece->at ? 0 : at - piece->at;
  return mark_at(original_, std::min(piece->original + offset, original_.size()));
}

void Expansion::restore_marks(yaml::YamlNode& node) const {
  node.mark = original_mark(node.mark);
  for (yaml::YamlNode& key : node.keys) restore_marks(key);
  for (yaml::YamlNode& item : node.items) restore_marks(item);
}

}  // namespace beeline::buffer
