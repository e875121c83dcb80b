#pragma once

namespace beeline::explore {

// True if the model allows exactly the right outcomes, and the explorer misses none: for known
// programs, and for that many random ones.
[[nodiscard]] bool litmus(int programs);

}  // namespace beeline::explore
