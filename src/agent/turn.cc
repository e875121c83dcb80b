#include "src/agent/turn.h"

#include "src/agent/core.h"

namespace beeline {

void Turn::take_sometimes() {
  if (++asks_ % kAsksPerClock != 0) return;
  const std::int64_t now_ns = os::coarse_ns();
  receiver_.tell_time(now_ns);
  take_at(now_ns);
}

// Its cost falls where a clock has ticked: not into the calls that it is made from, and the budget
// of instructions leaves it out by its name.
[[gnu::noinline]] void Turn::take_now(std::int64_t now_ns) {
  take();
  if (receiver_.all_empty()) receiver_.note_all_empty(now_ns);
}

void Turn::take() {
  taken_ns_ = os::coarse_ns();
  due_ns_ = taken_ns_ + kTick;
  core_.take_turn();
}

}  // namespace beeline
