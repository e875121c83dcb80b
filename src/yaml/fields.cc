#include "src/yaml/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beeline::yaml {
namespace {

using Kind = YamlNode::Kind;

std::string_view kind_word(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "empty";
    case Kind::kText:
      return "a text";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      break;
  }
  return "a map";
}

struct Unit {
  std::string_view word;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kSizes = {{{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}};
constexpr std::array<Unit, 5> kDurations = {
    {{"", 1'000}, {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};

// A whole number and its unit; nullopt if the text is anything else or too large.
std::optional<std::uint64_t> measure(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view word(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto unit = std::ranges::find(units, word, &Unit::word);
  std::uint64_t product = 0;
  if (unit == units.end() || __builtin_mul_overflow(number, unit->factor, &product)) {
    return std::nullopt;
  }
  return product;
}

struct Form {
  std::string_view what;
  std::span<const Unit> units;
  YamlRange range;
  std::string bounds;  // for people
};

std::optional<std::uint64_t> read_measure(const YamlNode& node, const Form& form,
                                          Mistakes& mistakes) {
  const auto text = yaml_text(node, form.what, mistakes);
  if (!text) return std::nullopt;
  const auto value = measure(*text, form.units);
  if (value && *value >= form.range.least && *value <= form.range.most) return value;
  mistakes.add(node.mark, fmt::format("{} is \"{}\"; write {}", form.what, *text, form.bounds));
  return std::nullopt;
}

}  // namespace

YamlFields::YamlFields(const YamlNode& node, std::string_view what, Mistakes& mistakes)
    : what_(what), mistakes_(mistakes) {
  if (node.kind != Kind::kMap) {
    mistakes.add(node.mark,
                 fmt::format("{} is {}; write a map, KEY: VALUE", what, kind_word(node)));
    return;
  }
  std::unordered_map<std::string_view, int> lines;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& key = node.keys[i];
    if (key.kind != Kind::kText) {
      mistakes.add(key.mark, fmt::format("a key of {} is {}; write a text", what, kind_word(key)));
      continue;
    }
    const auto [same, is_new] = lines.emplace(key.text, key.mark.line);
    if (!is_new) {
      mistakes.add(key.mark, fmt::format("the key \"{}\" of {} stands in line {} already; keep one",
                                         key.text, what, same->second));
      continue;
    }
    pairs_.push_back({key.text, &key, &node.items[i]});
  }
}

const YamlNode* YamlFields::take(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = std::ranges::find(pairs_, key, &Pair::key);
  if (found == pairs_.end()) return nullptr;
  found->is_taken = true;
  return found->value;
}

void YamlFields::refuse_others() {
  for (const Pair& pair : pairs_) {
    if (pair.is_taken) continue;
    mistakes_.add(pair.at->mark, fmt::format("{} has no key \"{}\"; its keys are {}", what_,
                                             pair.key, fmt::join(asked_, ", ")));
  }
}

void YamlFields::warn_of_others() {
  for (const Pair& pair : pairs_) {
    if (pair.is_taken) continue;
    mistakes_.warn(pair.at->mark,
                   fmt::format("the key \"{}\" of {} has no effect", pair.key, what_));
  }
}

std::optional<std::string> yaml_text(const YamlNode& node, std::string_view what,
                                     Mistakes& mistakes) {
  if (node.kind == Kind::kText) return node.text;
  mistakes.add(node.mark, fmt::format("{} is {}; write a text", what, kind_word(node)));
  return std::nullopt;
}

std::optional<std::uint64_t> yaml_number(const YamlNode& node, std::string_view what,
                                         YamlRange range, Mistakes& mistakes) {
  const auto bounds = fmt::format("a whole number from {} to {}", range.least, range.most);
  return read_measure(node, {what, std::span(kSizes).first(1), range, bounds}, mistakes);
}

std::optional<std::int32_t> yaml_integer(const YamlNode& node, std::string_view what,
                                         Mistakes& mistakes) {
  const auto text = yaml_text(node, what, mistakes);
  if (!text) return std::nullopt;
  std::int32_t value = 0;
  const char* const past = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), past, value);
  if (error == std::errc{} && end == past) return value;
  mistakes.add(node.mark, fmt::format("{} is \"{}\"; write a whole number from {} to {}", what,
                                      *text, std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int32_t>::max()));
  return std::nullopt;
}

std::optional<bool> yaml_flag(const YamlNode& node, std::string_view what, Mistakes& mistakes) {
  const auto text = yaml_text(node, what, mistakes);
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "false") return *text == "true";
  mistakes.add(node.mark, fmt::format("{} is \"{}\"; write true or false", what, *text));
  return std::nullopt;
}

std::optional<std::uint64_t> yaml_size(const YamlNode& node, std::string_view what, YamlRange range,
                                       Mistakes& mistakes) {
  const auto bounds =
      fmt::format("bytes from {} to {}, like 512M, with K, M or G", range.least, range.most);
  return read_measure(node, {what, kSizes, range, bounds}, mistakes);
}

std::optional<std::chrono::milliseconds> yaml_duration(const YamlNode& node, std::string_view what,
                                                       YamlRange range, Mistakes& mistakes) {
  const auto bounds = fmt::format("a time from {}ms to {}s, like 500ms, 10s, 1m or 1h", range.least,
                                  range.most / 1000);
  const auto value = read_measure(node, {what, kDurations, range, bounds}, mistakes);
  if (!value) return std::nullopt;
  return std::chrono::milliseconds(*value);
}

}  // namespace beeline::yaml
