#pragma once

#include <string>

#include "bench/table.h"

namespace beeline::bench {

// The targets, and who of the neighbours is better, as Markdown that stands by itself: the
// machines, what the words mean, and the two tables.
[[nodiscard]] std::string targets_markdown(const RowsByTest& rows);

}  // namespace beeline::bench
