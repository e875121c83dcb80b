#pragma once
// The coarse clock of this program stands still unless a scenario moves it, so that the same
// scenario finds the same states in each run, and so does the time of day. It replaces
// clock_gettime() of the C library for CLOCK_MONOTONIC_COARSE and CLOCK_REALTIME; the engine reads
// them as ever.

#include <cstdint>

namespace beeline::killpoints {

inline constexpr std::int64_t kTickNs = 4'000'000;

void reset_clock();
void advance_clock(std::int64_t ns);
inline void tick() { advance_clock(kTickNs); }

// Of the machine.
[[nodiscard]] double wall_seconds();
// Of this process and its children that have ended.
[[nodiscard]] double cpu_seconds();

}  // namespace beeline::killpoints
