#pragma once
// Counts the system calls in which a thread may wait.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beeline::test {

struct BlockingCalls {
  std::uint32_t epoll_waits = 0;
  std::vector<std::string> others;  // their names, in order
};

// Runs `body` in a thread of its own, and counts the calls of that thread in which it may wait.
// Calls that return at once in any case, such as a poll without a timeout, do not count, and the
// locks of the C library do not either. The
// calls happen. Threads that `body` starts are not counted; they must have ended when it returns,
// and it starts no processes. Nothing: this kernel refuses the filter.
[[nodiscard]] std::optional<BlockingCalls> count_blocking_calls(const std::function<void()>& body);

}  // namespace beeline::test
