#pragma once
// One row: all processes, the limit before and after, and another attempt if the machine changed
// between them.

#include <functional>
#include <vector>

#include "bench/flags.h"
#include "bench/pair.h"
#include "bench/sink.h"

namespace beeline::bench {

// The work of a side between the two limits. It has been pinned. Must not return before its own
// work is over; the sides start together.
using Measure = std::function<Result<void>(Board&, Side)>;

// The first work of a side, unpinned: to attach, so that it learns how many CPUs there are.
// Returns the measurement.
using Prepare = std::function<Result<Measure>(Board&, Side)>;

// Runs the case. A run with limits that differ by more than 30 %, or that hardly ran, is repeated,
// at most Case::most_attempts times in all; Outcome::stable() is about the last one. Percentiles
// are those of Board::rounds.
[[nodiscard]] Result<Outcome> run_case(SharedBoard& board, const Case& what,
                                       const Prepare& prepare);

// Runs one case, for example by run_case().
using RunCase = std::function<Result<Outcome>(SharedBoard&, const Case&)>;
// Puts the fields of its test into a row; add_conditions() adds the common ones.
using Fill = std::function<void(Row&, const Case&, const Outcome&)>;

// Runs the cases and hands out their rows. Errors: of the case; kSystem (a histogram cannot be
// written).
[[nodiscard]] Result<void> run_rows(const Sink& out, const Flags& flags,
                                    const std::vector<Case>& cases, const RunCase& run,
                                    const Fill& fill);
// The same in a hive of its own, which ends with it.
[[nodiscard]] Result<void> run_rows_in_hive(const Sink& out, const Flags& flags,
                                            const std::vector<Case>& cases, const RunCase& run,
                                            const Fill& fill);

[[nodiscard]] Percentiles percentiles_of(const Histogram& histogram);
[[nodiscard]] Row percentiles_json(const Percentiles& rtt);
// Messages a second: of the whole stream, and the spread of its windows.
void add_rate(Row& row, const Outcome& outcome);
// The columns of the rate, the stream and its slowest and fastest window, between others. `rate`:
// the first of them.
[[nodiscard]] std::vector<Column> with_rates(std::vector<Column> before,
                                             const std::vector<Column>& after,
                                             const Column& rate = {"million/s", "/messages_per_s",
                                                                   10, 1e-6, 2});
// p50 over the limit's.
[[nodiscard]] double ratio_of(const Outcome& outcome);
// Mode, limit, stability of the run, CPUs: a figure means nothing without these.
void add_conditions(Row& row, const Case& what, const Outcome& outcome);

}  // namespace beeline::bench
