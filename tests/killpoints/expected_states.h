#pragma once
// How many states each scenario passes through: a sweep that sweeps nothing must not pass. Printed
// by `beeline-killpoints --states`; whoever changes what the engine stores prints them anew and
// looks at the difference.

#include <cstdint>

namespace beeline::killpoints {

struct ExpectedStates {
  const char* scenario;
  std::uint64_t states;
};

inline constexpr ExpectedStates kExpectedStates[] = {
#include "tests/killpoints/expected_states.inc"
};

}  // namespace beeline::killpoints
