#pragma once
// The table that seed.py writes from bugs.txt: each seeded bug and the tests that have to catch it.

#include <array>
#include <string_view>

namespace beeline::mutants {

struct SeededBug {
  unsigned number = 0;  // has_bug()
  std::string_view name;
  std::string_view caught;  // by this test
  std::string_view fuzzed;  // and by this fuzz target (fuzz_test.cc), if it is named
  bool is_long = false;     // its test takes long to fail
};

inline constexpr auto kSeededBugs = std::to_array<SeededBug>({
#include "bugs.inc"
});

static_assert(kSeededBugs.size() >= 25);

}  // namespace beeline::mutants
