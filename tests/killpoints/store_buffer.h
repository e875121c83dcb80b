#pragma once
// A processor keeps its stores for a while before others see them: x86 up to its next fence, in
// order. One end of a race is stopped wherever it has stored what others need not see yet; that is
// hidden; the other end runs from start to end; then the stores come out and the first one goes on.
// So a missing fence shows in every run, on the instructions that are delivered, and not only when
// two processors happen to meet.
//
// A fence is what the engine says, an instruction with a lock prefix or mfence. A system call is
// none here, though a kernel passes some: nobody promises it.

#include "tests/killpoints/race.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

[[nodiscard]] Tally sweep_race(const Race& race, const Effort& effort);

}  // namespace beeline::killpoints
