#pragma once

// How capable the model of an agent is. A lower number is a higher tier.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/steward/role.h"

namespace beeline::steward {

enum class Tier : std::uint8_t { kStrategic, kTactical, kOperational };

inline constexpr std::array<std::string_view, 3> kTierWords = {"strategic", "tactical",
                                                               "operational"};
inline constexpr std::array<std::string_view, 3> kModels = {"opus", "sonnet", "mini"};
// By role.
inline constexpr std::array<Tier, kRoleWords.size()> kTiers = {
    Tier::kStrategic,    // kernel
    Tier::kOperational,  // daemon
    Tier::kTactical,     // agent
    Tier::kStrategic,    // architect
    Tier::kTactical,     // lead
    Tier::kOperational,  // worker
    Tier::kOperational,  // task
};

[[nodiscard]] constexpr std::string_view to_string(Tier tier) noexcept {
  return word_of(kTierWords, tier);
}
[[nodiscard]] constexpr std::optional<Tier> tier_from(std::string_view word) noexcept {
  return value_of<Tier>(kTierWords, word);
}
[[nodiscard]] constexpr std::string_view model_of(Tier tier) noexcept {
  return word_of(kModels, tier);
}
[[nodiscard]] constexpr Tier default_tier(Role role) noexcept {
  return kTiers[static_cast<std::size_t>(role)];
}
// A default never exceeds the tier of the parent, so it never makes a spawn fail.
[[nodiscard]] constexpr Tier default_tier(Role role, Tier parent) noexcept {
  return std::max(default_tier(role), parent);
}

}  // namespace beeline::steward
