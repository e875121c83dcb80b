#pragma once

#include <cstdlib>
#include <string_view>

namespace beeline::test {

// BEELINE_SOAK=1: the long form of each test that has one (`make soak`).
[[nodiscard]] inline bool is_soak() {
  const char* const text = std::getenv("BEELINE_SOAK");
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace beeline::test
