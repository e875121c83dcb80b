#pragma once

// The purpose of an agent: the roles of <beeline/types.h>, and that of pid 1.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <beeline/types.h>

#include "src/steward/words.h"

namespace beeline::steward {

enum class Role : std::uint8_t { kKernel, kDaemon, kAgent, kArchitect, kLead, kWorker, kTask };

inline constexpr std::array<std::string_view, 7> kRoleWords = {
    "kernel", "daemon", "agent", "architect", "lead", "worker", "task"};
// The roles that a child may have.
inline constexpr auto kChildRoleWords = std::span(kRoleWords).subspan<1>();
static_assert(std::ranges::equal(kChildRoleWords, kRoles));

[[nodiscard]] constexpr std::string_view to_string(Role role) noexcept {
  return word_of(kRoleWords, role);
}
[[nodiscard]] constexpr std::optional<Role> role_from(std::string_view word) noexcept {
  return value_of<Role>(kRoleWords, word);
}

}  // namespace beeline::steward
