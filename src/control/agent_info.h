#pragma once

// The coordinator's list of agents, in the words of the public interface.

#include <span>
#include <vector>

#include <beeline/registry.h>

#include "src/control/wire.h"

namespace beeline::control {

[[nodiscard]] State state_of(const ListedAgent& agent) noexcept;

// All agents of a complete list, in its order.
[[nodiscard]] std::vector<AgentInfo> infos_of(std::span<const ListedAgent> all);

// The agent that a name or a pid in decimal means to an agent of `user` (name_search.h); null if
// there is none.
[[nodiscard]] const AgentInfo* find_agent(std::span<const AgentInfo> all, std::string_view asked,
                                          uid_t user);

// The error for a name or number that matches no agent of a hive. It names the directory of the
// hive. Code: kNoAgent.
[[nodiscard]] Error nobody_named(std::string_view asked, std::string_view hive,
                                 std::string_view directory);

}  // namespace beeline::control
