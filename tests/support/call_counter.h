#pragma once
// Counts the system calls that a piece of code makes.

#include <cstdint>
#include <functional>
#include <optional>

namespace beeline::test {

// Runs `body` in a thread of its own and counts its system calls; none of them happens. Calls that
// the end of a thread and the memory allocator need are let through and not counted. Returns
// nothing if this kernel refuses the filter.
[[nodiscard]] std::optional<std::uint32_t> count_system_calls(const std::function<void()>& body);

}  // namespace beeline::test
