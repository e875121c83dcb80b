#pragma once
// One row: all processes, the limit before and after, and again where the machine changed between
// them.

#include <functional>
#include <vector>

#include "bench/flags.h"
#include "bench/pair.h"
#include "bench/sink.h"

namespace beeline::bench {

/// What a side does between the two limits. It has been pinned. Must not return before its own work
/// is over; the sides start together.
using Measure = std::function<Result<void>(Board&, Side)>;

/// What a side does first, unpinned: attach, so that it learns how many CPUs there are. Returns
/// what to measure.
using Prepare = std::function<Result<Measure>(Board&, Side)>;

/// Runs the case. A run whose two limits differ by more than 30 %, or that hardly came to run, is
/// done again, at most Case::most_attempts times in all; Outcome::stable() is about the last one.
/// Percentiles are those of Board::rounds.
[[nodiscard]] Result<Outcome> run_case(SharedBoard& board, const Case& what,
                                       const Prepare& prepare);

/// Runs one case, for example by run_case().
using RunCase = std::function<Result<Outcome>(SharedBoard&, const Case&)>;
/// Puts into a row what is of its test; what all have in common, add_conditions() adds.
using Fill = std::function<void(Row&, const Case&, const Outcome&)>;

/// Runs the cases and hands out their rows. Errors: of the case; kSystem (a histogram cannot be
/// written).
[[nodiscard]] Result<void> run_rows(const Sink& out, const Flags& flags,
                                    const std::vector<Case>& cases, const RunCase& run,
                                    const Fill& fill);
/// The same in a hive of its own, which ends with it.
[[nodiscard]] Result<void> run_rows_in_hive(const Sink& out, const Flags& flags,
                                            const std::vector<Case>& cases, const RunCase& run,
                                            const Fill& fill);

[[nodiscard]] Percentiles percentiles_of(const Histogram& histogram);
[[nodiscard]] Row percentiles_json(const Percentiles& rtt);
/// Messages a second: of the whole stream, and the spread of its windows.
void add_rate(Row& row, const Outcome& outcome);
/// The columns of that, the stream and its slowest and fastest window, between others. `rate`: the
/// first of them.
[[nodiscard]] std::vector<Column> with_rates(std::vector<Column> before,
                                             const std::vector<Column>& after,
                                             const Column& rate = {"million/s", "/messages_per_s",
                                                                   10, 1e-6, 2});
/// p50 over the limit's.
[[nodiscard]] double ratio_of(const Outcome& outcome);
/// Mode, limit, how stable the run was, CPUs: what a figure is worth nothing without.
void add_conditions(Row& row, const Case& what, const Outcome& outcome);

}  // namespace beeline::bench
