#pragma once

#include <string>

#include "bench/table.h"

namespace beeline::bench {

// The targets, and the neighbours that are better, as Markdown that stands by itself: the
// machines, the meaning of the words, and the two tables.
[[nodiscard]] std::string targets_markdown(const RowsByTest& rows);

}  // namespace beeline::bench
