#pragma once
// Which instructions are the C library's: what it copies, it copies in as many stores as the
// processor likes best.

#include <cstdint>

namespace beeline::killpoints {

// Whether the instruction at this address is one of the C library's. Needs no system call.
[[nodiscard]] bool is_c_library(std::uintptr_t at);

}  // namespace beeline::killpoints
