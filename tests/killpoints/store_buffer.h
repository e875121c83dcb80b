#pragma once
// A processor keeps its stores for a while before others see them: x86 up to its next fence, in
// order. One end is stopped at each instruction in turn, and what it has stored since its last
// fence is hidden; the other end runs from start to end; then the stores come out and the first one
// goes on. So a missing fence shows in every run, on the instructions that are delivered, and not
// only when two processors happen to meet.

#include <string>
#include <vector>

#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {

// One goes to sleep, the other brings what it waits for. Either the sleeper sees that in its last
// look, or it is rung.
struct Race {
  std::string name;  // what is waited for/who stands still
  bool sender_sleeps = false;
  bool sleeper_stands = false;
};

[[nodiscard]] const std::vector<Race>& races();
[[nodiscard]] Tally sweep_race(const Race& race);

}  // namespace beeline::killpoints
