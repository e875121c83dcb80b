#pragma once

// The history of the hive: how much its agents record, and the segments in which they do. The
// keeper holds both, so a history outlives its agent and every coordinator.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"
#include "src/control/keeper_table.h"

namespace beeline::control {

// Answers how much the agents record, and sets it first if the request says so. Errors: kDenied
// (the user), kInvalid (the level), those of KeeperClient::keep().
[[nodiscard]] Result<void> ask_history(Hive& hive, const Caller& caller, std::uint64_t seq,
                                       const HistoryRequest& request);
// Keeps the history of the caller's life. Errors: kBadSegment, kWrongVersion, kFull (so many lives
// record already), those of KeeperClient::keep().
[[nodiscard]] Result<void> keep_history(Hive& hive, const Caller& caller, std::uint64_t seq,
                                        std::vector<os::UniqueFd> fds);
// REQUIRES: the agents are restored.
void restore_histories(Hive& hive, const KeptTable& table);

}  // namespace beeline::control
