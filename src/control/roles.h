#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline::control {

// The purpose of an agent; kRoles in <beeline/types.h> explains each. Directory and tools use this
// number.
enum class Role : std::uint8_t {
  kKernel = 0,  // the coordinator alone
  kDaemon = 1,
  kAgent = 2,
  kArchitect = 3,
  kLead = 4,
  kWorker = 5,
  kTask = 6,  // may send to its parent only
};

inline constexpr std::array<std::string_view, 7> kRoleWords = {
    "kernel", "daemon", "agent", "architect", "lead", "worker", "task"};

// The roles that an agent may have.
inline constexpr auto kAgentRoleWords = std::span(kRoleWords).subspan<1>();
static_assert(std::ranges::equal(kAgentRoleWords, kRoles));

// These roles in one text, for people.
[[nodiscard]] inline std::string agent_roles() {
  std::string text;
  for (const std::string_view word : kAgentRoleWords) {
    text.append(text.empty() ? "" : ", ").append(word);
  }
  return text;
}

// The word of a role as it stands in control messages and on the command line. Static.
[[nodiscard]] constexpr std::string_view to_string(Role role) noexcept {
  const auto index = static_cast<std::size_t>(role);
  return index < kRoleWords.size() ? kRoleWords[index] : "unknown";
}

// The role that a word names; nullopt for any other text.
[[nodiscard]] constexpr std::optional<Role> role_from(std::string_view word) noexcept {
  for (std::size_t i = 0; i < kRoleWords.size(); ++i) {
    if (kRoleWords[i] == word) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace beeline::control
