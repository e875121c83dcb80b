#pragma once
// A look at what processes hold, taken while nobody changes it.

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <beeline/types.h>

namespace beeline::test {

// It waits for somebody, and has done all that it was woken for; or there is no such process.
[[nodiscard]] bool is_at_rest(pid_t process);

// What `look` finds, or nothing when the machine is too busy to tell until the deadline. `pause` is
// called between two looks.
// SUBTLE: /proc/PID/fd is not read at once, so a descriptor that another one replaces meanwhile may
// be missed; and on a busy machine a process has yet to hear what it will hold. A finding is
// believed only if it stays while one after the other of `processes` has nothing left to do:
// whoever gives another one work comes before it.
template <typename Pause, typename Look>
[[nodiscard]] auto look_at_rest(const std::vector<pid_t>& processes, Deadline deadline,
                                const Pause& pause, const Look& look)
    -> std::optional<decltype(look())> {
  constexpr int kFoundAgain = 5;
  auto now = look();
  for (int found = 0; found < kFoundAgain; ++found) {
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    pause();
    const bool at_rest = std::all_of(processes.begin(), processes.end(), is_at_rest);
    const auto again = look();
    if (!at_rest || !(again == now)) found = -1;
    now = again;
  }
  return now;
}

}  // namespace beeline::test
