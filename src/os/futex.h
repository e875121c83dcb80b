#pragma once

// Futex operations between processes: always the shared kind, because a private one never meets
// them. Only src/wake may sleep with these.

#include <chrono>
#include <cstdint>

namespace beeline::os {

// Why a wait ended.
enum class WaitOutcome : std::uint8_t {
  kWoken,        // another process woke us (may be spurious: look again)
  kTimeout,      // the time was over
  kChanged,      // the word did not hold the expected value; we did not sleep
  kInterrupted,  // a signal handler ran
};

// Sleeps while `*word` holds `expected`, at most for `timeout` (negative counts as 0,
// nanoseconds::max() means for ever). `word` is 4-byte aligned and lies in a shared mapping, which
// may be read-only. A hostile process that maps the word can wake us or move us to another futex,
// so only the timeout is certain.
[[nodiscard]] WaitOutcome futex_wait(const void* word, std::uint32_t expected,
                                     std::chrono::nanoseconds timeout) noexcept;

// Wakes every thread that waits on `word`; works through a read-only mapping. Returns how many
// were woken, 0 also if the word cannot be reached. Costs a system call even if no thread waits.
int futex_wake_all(const void* word) noexcept;

// True if futex_wake_all() would reach the word. If not, errno says why. REQUIRES: no thread waits
// on it, because the kernel wakes one even when asked for none.
[[nodiscard]] bool can_wake(const void* word) noexcept;

}  // namespace beeline::os
