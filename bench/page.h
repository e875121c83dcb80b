#pragma once

#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace beeline::bench {

// A table, and what was drawn of it.
struct Section {
  Description about;
  std::vector<Row> rows;
  std::vector<std::string> pictures{};
  std::vector<std::string> undrawn{};  // why a picture is missing, one text for each
};

// The machines that the rows were measured on, as those of `limit` name them, each once, whatever
// its load was. Another build is another machine.
[[nodiscard]] std::vector<Row> machines_of(const RowsByTest& rows);

// One page of HTML that needs nothing but itself: the machines, then the sections.
[[nodiscard]] std::string page_text(const std::vector<Row>& machines,
                                    const std::vector<Section>& sections);

}  // namespace beeline::bench
