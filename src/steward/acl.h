#pragma once

// The actions that each role may take. An action without a rule is denied.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "src/steward/role.h"

namespace beeline::steward {

enum class Action : std::uint8_t {
  kSpawn,
  kKill,
  kSendMessage,
  kReadArtifact,
  kWriteArtifact,
  kEscalate,
  kReadProcess,
};

inline constexpr std::array<std::string_view, 7> kActionWords = {
    "spawn", "kill", "send_message", "read_artifact", "write_artifact", "escalate", "read_process"};

enum class Rule : std::uint8_t { kNone, kAllow, kDeny };

inline constexpr auto kRules = [] {
  constexpr Rule kYes = Rule::kAllow;
  constexpr Rule kNo = Rule::kNone;
  // spawn, kill, send_message, read_artifact, write_artifact, escalate, read_process
  return std::array<std::array<Rule, kActionWords.size()>, kRoleWords.size()>{{
      {kYes, kYes, kYes, kYes, kYes, kYes, kYes},      // kernel
      {kYes, kYes, kYes, kYes, kYes, kYes, kYes},      // daemon
      {kYes, kNo, kYes, kYes, kYes, kYes, kYes},       // agent
      {kNo, kNo, kNo, kYes, kYes, kYes, kYes},         // architect
      {kYes, kYes, kYes, kYes, kYes, kYes, kYes},      // lead
      {kYes, kNo, kYes, kYes, kYes, kYes, kYes},       // worker
      {Rule::kDeny, kNo, kYes, kYes, kNo, kYes, kNo},  // task
  }};
}();

[[nodiscard]] constexpr std::string_view to_string(Action action) noexcept {
  return word_of(kActionWords, action);
}
[[nodiscard]] constexpr Rule rule_of(Role role, Action action) noexcept {
  return kRules[static_cast<std::size_t>(role)][static_cast<std::size_t>(action)];
}
[[nodiscard]] constexpr bool may(Role role, Action action) noexcept {
  return rule_of(role, action) == Rule::kAllow;
}

}  // namespace beeline::steward
