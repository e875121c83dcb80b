#pragma once
// Round trips that are due at fixed times, see open_loop.h.

#include "bench/agents.h"

namespace beeline::bench {

// At the rate of the case, for its time. Numbers continue after `number`, the last one sent.
// Records into Board::rounds and Board::late. Errors: those of Agent.
[[nodiscard]] Result<void> time_schedule(Board& board, Player& player, const Case& what,
                                         std::uint64_t number);

}  // namespace beeline::bench
