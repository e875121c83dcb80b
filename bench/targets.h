#pragma once
// What Beeline is to reach, next to what was measured. The targets stand here and nowhere else.

#include <string>
#include <vector>

#include "bench/table.h"

namespace beeline::bench {

/// What the table of target_rows() shows, of rows of so many machines.
[[nodiscard]] std::string targets_text(std::size_t machines);
/// Columns of target_rows().
[[nodiscard]] std::vector<Column> target_columns();

/// A row for each target: what it asks for, what came out, the limit beside it, the spread, and
/// whether it is reached. Of several rows of one measurement those count whose limit is one that
/// the target is asked for at, of these the stable ones, of these the one in the middle; of two in
/// the middle the one that is less favourable. Without a row at such a limit the target is neither
/// reached nor missed. What is in no row is "not measured"; there is "no figure" where a row has
/// none, or none that may be compared, and then it is
/// not known.
[[nodiscard]] std::vector<Row> target_rows(const RowsByTest& rows);

/// The rows of neighbours that are better than Beeline's.
[[nodiscard]] std::vector<Row> better_rows(const RowsByTest& rows);
/// What to say besides: that nobody is better, and of how many rows that is not known. Mostly
/// nothing.
[[nodiscard]] std::string comparison_text(const RowsByTest& rows);

}  // namespace beeline::bench
