#pragma once
// What Beeline is to reach, next to what was measured. The targets stand here and nowhere else.

#include <vector>

#include "bench/table.h"

namespace beeline::bench {

/// Columns of target_rows().
[[nodiscard]] std::vector<Column> target_columns();

/// A row for each target: what it asks for, what came out, the limit beside it, the spread, and
/// whether it is reached. Of several rows of one measurement the stable ones count, of these the
/// one in the middle. What is in no row is "not
/// measured"; there is "no figure" where a row has none, or none that may be compared.
[[nodiscard]] std::vector<Row> target_rows(const RowsByTest& rows);

/// The rows of neighbours that are better than Beeline's.
[[nodiscard]] std::vector<Row> better_rows(const RowsByTest& rows);

}  // namespace beeline::bench
