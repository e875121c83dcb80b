#pragma once
// Runs a target without libFuzzer: its corpus and its seeds (seeds.cc), then mutations that follow
// from a seed alone. Shows the seed; the same seed repeats the run. It lacks libFuzzer's guidance
// by coverage, so it is for every test run, and libFuzzer (preset `fuzz`) for long ones.

#include <cstdint>
#include <string>
#include <vector>

namespace beeline::fuzz {

struct Options {
  std::string target;
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
  std::int64_t only = -1;  // run this mutation only
  std::vector<std::string> files;
};

// Zero once all has run; a finding ends the program.
[[nodiscard]] int run(const Options& options);

}  // namespace beeline::fuzz
