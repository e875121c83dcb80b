#pragma once
// Counts the system calls that a piece of code makes.

#include <cstdint>
#include <functional>
#include <optional>

namespace beeline::test {

// Runs `body` in a thread of its own, in which no system call happens: each is counted. What the
// end of a thread and the memory allocator need is let through, and not counted. Nothing where this
// kernel refuses the filter.
[[nodiscard]] std::optional<std::uint32_t> count_system_calls(const std::function<void()>& body);

}  // namespace beeline::test
