#pragma once

// The steward's answer to the end of a child.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/steward/role.h"

namespace beeline::steward {

enum class Restart : std::uint8_t {
  kAlways,     // start it again, also after an exit with 0
  kOnFailure,  // start it again unless it exited with 0
  kNotify,     // tell the parent
  kNever,      // tell the parent, and expect no other life
};

inline constexpr std::array<std::string_view, 4> kRestartWords = {"always", "on-failure", "notify",
                                                                  "never"};
// By role.
inline constexpr std::array<Restart, kRoleWords.size()> kRestarts = {
    Restart::kAlways,  // kernel
    Restart::kAlways,  // daemon
    Restart::kNotify,  // agent
    Restart::kNever,   // architect
    Restart::kNotify,  // lead
    Restart::kNotify,  // worker
    Restart::kNever,   // task
};

[[nodiscard]] constexpr std::string_view to_string(Restart restart) noexcept {
  return word_of(kRestartWords, restart);
}
[[nodiscard]] constexpr std::optional<Restart> restart_from(std::string_view word) noexcept {
  return value_of<Restart>(kRestartWords, word);
}
[[nodiscard]] constexpr Restart default_restart(Role role) noexcept {
  return kRestarts[static_cast<std::size_t>(role)];
}

}  // namespace beeline::steward
