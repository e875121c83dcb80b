#pragma once
// How many states each scenario, pair, standstill and race passes through: a sweep that sweeps
// nothing must not pass. The compiler decides in which stores something is written, so each has its
// own numbers. They are exact for GCC 12 and Clang 14 of Debian 12 with the project's own options
// (CMakeLists.txt says when); elsewhere half of them is a floor.
//
// Whoever changes what the engine stores prints them anew, with both compilers, and looks at the
// difference: `beeline-killpoints --states > tests/killpoints/expected_states.inc`.

#include <array>
#include <cstdint>
#include <string_view>

namespace beeline::killpoints {

struct ExpectedStates {
  std::string_view name;
  std::uint64_t states = 0;  // a copy by the C library is one, since the processor decides there
  std::uint64_t sender_states = 0;  // of a pair
};

#if defined(BEELINE_STATES_ARE_EXACT)
inline constexpr bool kCountsAreExact = true;
#else
inline constexpr bool kCountsAreExact = false;
#endif

inline constexpr auto kExpectedStates = std::to_array<ExpectedStates>({
#if defined(__clang__)
#include "tests/killpoints/expected_states_clang.inc"
#else
#include "tests/killpoints/expected_states.inc"
#endif
});

}  // namespace beeline::killpoints
