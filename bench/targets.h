#pragma once
// The targets of Beeline, next to the measured figures. Only this file lists them.

#include <string>
#include <vector>

#include "bench/table.h"

namespace beeline::bench {

// The text above the table of target_rows(), for rows of this many machines.
[[nodiscard]] std::string targets_text(std::size_t machines);
// Columns of target_rows().
[[nodiscard]] std::vector<Column> target_columns();

// A row for each target: the target, the figure, the limit beside it, the spread, and whether the
// target is reached. If one measurement has several rows, only those count that were measured at a
// limit for which the target applies, and of these only the stable ones. The one in the middle
// decides; of two in the middle the less favourable one. Without a row at such a limit the target
// is neither reached nor missed. A measurement without a row is "not measured". There is "no
// figure" if a row has none, or none that may be compared; the result is unknown then.
[[nodiscard]] std::vector<Row> target_rows(const RowsByTest& rows);

// The rows of neighbours that are better than Beeline's.
[[nodiscard]] std::vector<Row> better_rows(const RowsByTest& rows);
// A remark on better_rows(): that no neighbour is better, and for how many rows that is unknown.
// Mostly empty.
[[nodiscard]] std::string comparison_text(const RowsByTest& rows);

}  // namespace beeline::bench
