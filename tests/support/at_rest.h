#pragma once
// Looks at the descriptors and memory of processes while nobody changes them.

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <beeline/types.h>

namespace beeline::test {

// The process waits and has nothing left to do, or there is no such process.
[[nodiscard]] bool is_at_rest(pid_t process);

// Returns the finding of `look`, or nothing if the machine is too busy until the deadline. `pause`
// is called between two looks. SUBTLE: a read of /proc/PID/fd is not atomic, so a descriptor that
// moves meanwhile may be missed. On a busy machine a process may also not have received its
// descriptors yet. So a finding counts only if it stays the same while each of `processes`, in this
// order, has nothing left to do. A process that gives another one work must stand before it.
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
