#pragma once
// A processor keeps its stores for a while before others see them: x86 up to its next fence, in
// order. One end of a race is stopped wherever others need not see its last stores yet, and these
// are hidden. The other end runs from start to end; then the stores come out and the first one goes
// on. So a missing fence shows in every run, in the delivered instructions, and not only when two
// processors happen to meet.
//
// A fence is an explicit one of the engine, an instruction with a lock prefix or mfence. A system
// call does not count, even if the kernel passes a fence: nobody promises that.

#include "tests/killpoints/race.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

[[nodiscard]] Tally sweep_race(const Race& race, const Effort& effort);

}  // namespace beeline::killpoints
