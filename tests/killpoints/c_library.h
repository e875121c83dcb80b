#pragma once
// Tells the instructions of the C library: it copies in as many stores as suits the processor.

#include <cstdint>

namespace beeline::killpoints {

// Whether the instruction at this address belongs to the C library. Makes no system call.
[[nodiscard]] bool is_c_library(std::uintptr_t at);

}  // namespace beeline::killpoints
