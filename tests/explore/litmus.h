#pragma once

namespace beeline::explore {

// True when the memory model allows exactly what it should, and the explorer misses none of it:
// known programs, and that many random ones.
[[nodiscard]] bool litmus(int programs);

}  // namespace beeline::explore
