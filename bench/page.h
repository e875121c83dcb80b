#pragma once

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace beeline::bench {

/// A table, and what was drawn of it.
struct Section {
  Description about;
  std::vector<Row> rows;
  std::vector<std::string> pictures{};
};

/// The machine that the rows were measured on, as those of `limit` name it; null if none does.
[[nodiscard]] Row machine_of(const RowsByTest& rows);

/// One page of HTML that needs nothing but itself: the machine, then the sections.
[[nodiscard]] std::string page_text(const Row& machine, const std::vector<Section>& sections);

}  // namespace beeline::bench
