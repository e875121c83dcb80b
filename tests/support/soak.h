#pragma once

#include <cstdlib>
#include <string_view>

namespace beeline::test {

// BEELINE_SOAK=1: the long form of each test that has one (`make soak`).
[[nodiscard]] inline bool is_soak() {
  const char* const text = std::getenv("BEELINE_SOAK");
  return text != nullptr && std::string_view(text) == "1";
}

// BEELINE_BRIEF=1: the short form of the tests whose many repetitions take minutes under the
// address sanitizer. The preset asan sets it, the preset asan-all (`make soak`) does not.
[[nodiscard]] inline bool is_brief() {
  const char* const text = std::getenv("BEELINE_BRIEF");
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace beeline::test
