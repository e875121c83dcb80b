#pragma once

// The capabilities that each role has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/steward/role.h"

namespace beeline::steward {

enum class Capability : std::uint8_t {
  kSpawnChildren,
  kKillProcesses,
  kManageTree,
  kShellExec,
  kNetworkAccess,
  kFileWrite,
  kFileRead,
  kBudgetAllocate,
  kEscalate,
  kBroadcast,
};

inline constexpr std::array<std::string_view, 10> kCapabilityWords = {
    "spawn_children", "kill_processes", "manage_tree",     "shell_exec", "network_access",
    "file_write",     "file_read",      "budget_allocate", "escalate",   "broadcast"};

// spawn_children, kill_processes, manage_tree, shell_exec, network_access, file_write, file_read,
// budget_allocate, escalate, broadcast
inline constexpr std::array<std::array<bool, kCapabilityWords.size()>, kRoleWords.size()>
    kCapabilities = {{
        {true, true, true, true, true, true, true, true, true, true},          // kernel
        {true, true, true, false, true, false, true, true, true, true},        // daemon
        {true, true, false, false, true, true, true, true, true, false},       // agent
        {false, false, false, false, false, true, true, false, true, false},   // architect
        {true, true, false, false, true, true, true, true, true, false},       // lead
        {true, false, false, false, true, true, true, false, true, false},     // worker
        {false, false, false, false, false, false, true, false, true, false},  // task
    }};

[[nodiscard]] constexpr std::string_view to_string(Capability capability) noexcept {
  return word_of(kCapabilityWords, capability);
}
[[nodiscard]] constexpr bool has(Role role, Capability capability) noexcept {
  return kCapabilities[static_cast<std::size_t>(role)][static_cast<std::size_t>(capability)];
}

}  // namespace beeline::steward
