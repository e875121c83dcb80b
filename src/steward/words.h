#pragma once

// A closed set of words: the value of an enum is the index of its word.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace beeline::steward {

template <typename Enum>
[[nodiscard]] constexpr std::string_view word_of(std::span<const std::string_view> words,
                                                 Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < words.size() ? words[index] : "unknown";
}

template <typename Enum>
[[nodiscard]] constexpr std::optional<Enum> value_of(std::span<const std::string_view> words,
                                                     std::string_view word) noexcept {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// "a, b, c", for people.
[[nodiscard]] inline std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace beeline::steward
