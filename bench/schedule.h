#pragma once
// Round trips that are due at fixed times, whatever became of those before.
//
// Message k is due at start + k / rate and its answer is counted from then on, not from when it was
// sent: one slow answer is not an excuse for all messages that had to wait behind it ("coordinated
// omission"). How late messages were sent is recorded by itself.

#include "bench/agents.h"

namespace beeline::bench {

/// For `what.seconds`, at `what.rate`; numbers go on after `number`, the last one that was sent.
/// Records into Board::rounds and Board::late. Errors: those of Agent.
[[nodiscard]] Result<void> time_schedule(Board& board, Player& player, const Case& what,
                                         std::uint64_t number);

}  // namespace beeline::bench
