#pragma once

// Futex operations between processes: always the shared kind, a private one never meets them.
// Only src/wake may sleep with these.

#include <chrono>
#include <cstdint>

namespace beeline::os {

/// Why a wait ended.
enum class WaitOutcome : std::uint8_t {
  kWoken,        ///< somebody woke us (may be spurious: look again)
  kTimeout,      ///< the time was over
  kChanged,      ///< the word did not hold the expected value, we did not sleep
  kInterrupted,  ///< a signal handler ran
};

/// Sleeps while `*word` holds `expected`, at most for `timeout` (negative counts as 0,
/// nanoseconds::max() means for ever). `word` is 4-byte aligned and lies in a shared mapping, which
/// may be read-only. Any hostile holder of the word can wake us or move us away, so only the
/// timeout is certain.
[[nodiscard]] WaitOutcome futex_wait(const void* word, std::uint32_t expected,
                                     std::chrono::nanoseconds timeout) noexcept;

/// Wakes everybody who waits on `word`; works through a read-only mapping. Returns how many were
/// woken, 0 also if the word cannot be reached. Costs a system call even if nobody waits.
int futex_wake_all(const void* word) noexcept;

/// Whether that would reach the word. If not, errno says why. Nobody may wait on it: the kernel
/// wakes one even where none is asked for.
[[nodiscard]] bool can_wake(const void* word) noexcept;

}  // namespace beeline::os
