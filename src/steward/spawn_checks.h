#pragma once

// The rules that a spawn must pass before anything is started, over plain facts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/steward/policy.h"

namespace beeline::steward {

// The facts about a spawn that somebody asks for.
struct WantedSpawn {
  // The agent that is to be the parent.
  struct Parent {
    bool is_found = false;
    std::string wanted{};  // its name or pid as the caller wrote it
    Actor actor{};
    std::string state{};  // "idle", "running", ..., "zombie", "dead"
    Tier tier = Tier::kStrategic;
    std::uint32_t children = 0;                               // zombies included
    std::uint32_t max_children = ChildLimits{}.max_children;  // 0: no limit
  };
  struct Child {
    std::string name{};
    Role role = Role::kWorker;
    Tier tier = Tier::kOperational;
    std::optional<std::uint32_t> uid{};  // nullopt: that of the parent
  };
  Actor caller{};
  Parent parent{};
  Child child{};
};

inline constexpr std::string_view kSpawnDenied = "spawn denied: ";
inline constexpr std::string_view kSpawnInvalid = "spawn: validation failed: ";

// The first rule that the spawn breaks, in this order: the rules for caller and parent, the user,
// the role kernel, then parent, tier, number of children, task and name. Errors: kDenied,
// kNoAgent (no such parent), kPeerDead (the parent has ended), kFull (its children), kInvalid.
[[nodiscard]] Result<void> check_spawn(const WantedSpawn& wanted);

}  // namespace beeline::steward
