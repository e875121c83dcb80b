#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace beeline::bench {

/// Rows by the name of their test.
using RowsByTest = std::map<std::string, std::vector<Row>>;

/// The machine that the rows were measured on, as those of `limit` name it; null if none does.
[[nodiscard]] Row machine_of(const RowsByTest& rows);

/// One page of HTML that needs nothing but itself: the machine, and for each test that has rows its
/// table and its pictures (already drawn, by test).
[[nodiscard]] std::string page_text(
    const std::vector<std::unique_ptr<Benchmark>>& benchmarks, const RowsByTest& rows,
    const std::map<std::string, std::vector<std::string>>& pictures);

}  // namespace beeline::bench
