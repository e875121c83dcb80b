#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/spool.h>

namespace beeline::spool {

// The value of a key; null if there is none.
[[nodiscard]] inline const std::string* find_extra(const std::vector<Extra>& extras,
                                                   std::string_view key) {
  const auto found = std::find_if(extras.begin(), extras.end(),
                                  [key](const Extra& extra) { return extra.first == key; });
  return found == extras.end() ? nullptr : &found->second;
}

// Replaces the value of a key at its place, or adds the key.
inline void set_extra(std::vector<Extra>& extras, std::string_view key, std::string json) {
  const auto found = std::find_if(extras.begin(), extras.end(),
                                  [key](const Extra& extra) { return extra.first == key; });
  if (found == extras.end()) {
    extras.emplace_back(key, std::move(json));
  } else {
    found->second = std::move(json);
  }
}

inline void erase_extra(std::vector<Extra>& extras, std::string_view key) {
  std::erase_if(extras, [key](const Extra& extra) { return extra.first == key; });
}

}  // namespace beeline::spool
