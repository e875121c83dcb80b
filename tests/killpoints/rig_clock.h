#pragma once
// The coarse clock of this program stands still unless a scenario moves it, and so does the time of
// day. So the same scenario finds the same states in each run. It replaces clock_gettime() of the C
// library for CLOCK_MONOTONIC_COARSE and CLOCK_REALTIME; the engine reads them as usual.

#include <cstdint>

namespace beeline::killpoints {

inline constexpr std::int64_t kTickNs = 4'000'000;

void reset_clock();
void advance_clock(std::int64_t ns);
inline void tick() { advance_clock(kTickNs); }

// Wall-clock time.
[[nodiscard]] double wall_seconds();
// CPU time of this process and its ended children.
[[nodiscard]] double cpu_seconds();

}  // namespace beeline::killpoints
