#pragma once

// The limits of an agent for which nobody set others.

#include <cstdint>

#include <beeline/processes.h>

#include "src/steward/role.h"

namespace beeline::steward {

inline constexpr std::uint32_t kKingMaxChildren = 100;

[[nodiscard]] inline ChildLimits default_limits(Role role) noexcept {
  ChildLimits limits;
  if (role == Role::kKernel) limits.max_children = kKingMaxChildren;
  return limits;
}

}  // namespace beeline::steward
