#pragma once

#include <ctime>

#include <cstdint>

namespace beeline::os {

// Reads a clock in nanoseconds. The clocks below exist on every kernel that we run on, so this
// cannot fail.
inline std::int64_t read_clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + std::int64_t{now.tv_nsec};
}

// Monotonic nanoseconds at the last tick (up to 4 ms old); about 5 ns to read. Same scale as
// monotonic_ns(), and the same in all processes of the machine.
inline std::int64_t coarse_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC_COARSE); }

// Monotonic nanoseconds; stands still while the machine is suspended.
inline std::int64_t monotonic_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }

// Ticks of the cheapest clock that the CPU has. On the machines that we know a tick is between a
// quarter of a nanosecond and one nanosecond. Two CPUs may differ a little, so a later reading may
// be lower.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC));
#endif
}

// Microseconds since the machine was started, suspension included. Containers with a time
// namespace see it shifted.
inline std::int64_t boot_us() noexcept { return read_clock_ns(CLOCK_BOOTTIME) / 1'000; }

// Nanoseconds since 1970, for people only: it can jump.
inline std::int64_t realtime_ns() noexcept { return read_clock_ns(CLOCK_REALTIME); }

}  // namespace beeline::os
