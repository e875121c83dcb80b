#pragma once
// The command line of beeline-bench, and the rows that it asks for.

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/case.h"

namespace beeline::bench {

enum class Test : std::uint8_t { kLimit, kLatency, kThroughput };

struct Options {
  Test test = Test::kLimit;
  std::vector<std::uint64_t> sizes;  // empty: those of the test
  std::vector<WaitMode> modes;       // empty: those of the test
  std::vector<int> pin;              // empty, or two CPUs
  double seconds = 0.0;              // of one row; 0: that of the test
  bool untouched = false;
  bool json = false;
};

/// Adds sub-commands and flags. `options` must live as long as `app`.
void add_options(CLI::App& app, Options& options);

/// The rows to measure. On one CPU nobody can spin: every mode becomes sleep.
[[nodiscard]] std::vector<Case> cases_of(const Options& options, const Cpus& cpus);

}  // namespace beeline::bench
