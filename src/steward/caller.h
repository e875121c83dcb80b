#pragma once

// An agent that asks pid 1 for something, and its rights over others.

#include <optional>
#include <string_view>

#include "src/steward/family.h"
#include "src/steward/policy.h"

namespace beeline::steward {

struct Caller {
  Actor actor{};
  // A command of the hive's user: it may name any agent.
  bool is_operator = false;

  // nullopt: the family does not know enough about this agent.
  [[nodiscard]] static std::optional<Caller> find(const Family& family, Pid pid);
  // True if `pid` is below the caller.
  [[nodiscard]] bool owns(const Family& family, Pid pid) const;
};

}  // namespace beeline::steward
