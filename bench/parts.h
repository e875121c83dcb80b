#pragma once
// The parts that `beeline-bench primitives` measures, as Google Benchmark calls them.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace beeline::bench {

struct Part {
  std::string what;
  std::size_t depth = 0;  // elements in the structure; 0: it has none
  std::function<void(benchmark::State&)> run;
  std::size_t batch = 0;  // calls that one turn of it times by itself; 0: a turn is one call
};

// The cost of a copy, a fence and a clock read on this machine comes first.
[[nodiscard]] std::vector<Part> all_parts();

}  // namespace beeline::bench
