#pragma once
// The least number of states that each scenario, pair, standstill and race passes through: a sweep
// that sweeps nothing must not pass. A floor is 90 % of the states of the compiler that makes fewer
// of them (GCC 12 or Clang 14), because a compiler decides in which stores something is written.
//
// `beeline-killpoints --floors` prints 90 % of what the program finds. A new scenario takes its
// line from there. A change of the engine that makes fewer states lowers a floor, and says why.

#include <array>
#include <cstdint>
#include <string_view>

namespace beeline::killpoints {

struct StateFloor {
  std::string_view name;
  std::uint64_t states = 0;  // a copy by the C library is one, since the processor decides there
  std::uint64_t sender_states = 0;  // of a pair
};

inline constexpr auto kStateFloors = std::to_array<StateFloor>({
#include "tests/killpoints/state_floors.inc"
});

// 90 %, but never nothing where there is something.
constexpr std::uint64_t floor_of(std::uint64_t states) { return states == 1 ? 1 : states * 9 / 10; }

}  // namespace beeline::killpoints
