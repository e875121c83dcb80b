#pragma once
// One row: both processes, the limit before and after, and again where the machine changed between
// them.

#include <functional>

#include "bench/pair.h"

namespace beeline::bench {

/// What a side does between the two limits. It has been pinned. Must not return before its own work
/// is over; the two sides start together.
using Measure = std::function<Result<void>(Board&, Side)>;

/// What a side does first, unpinned: attach, so that it learns how many CPUs there are. Returns
/// what to measure.
using Prepare = std::function<Result<Measure>(Board&, Side)>;

/// Runs the case. A run whose two limits differ by more than 30 %, or that hardly came to run, is
/// done again, at most kMostAttempts times in all; Outcome::stable() is about the last one.
/// Percentiles are those of Board::rounds.
[[nodiscard]] Result<Outcome> run_case(SharedBoard& board, const Case& what,
                                       const Prepare& prepare);

inline constexpr int kMostAttempts = 5;

/// Nothing but the limit.
[[nodiscard]] Result<Outcome> run_limit(SharedBoard& board, const Case& what);

}  // namespace beeline::bench
