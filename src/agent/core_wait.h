#pragma once
// How an agent waits, for whatever it waits: it drains its in-links all the while, and before each
// block it looks at the control socket and the directory too.

#include "src/agent/core.h"

namespace beeline {

template <typename Ready>
bool AgentCore::wait_until(std::int64_t deadline_ns, Ready&& ready) {
  const bool was_armed = armed_;
  disarm();
  const bool done = waiter_->wait(
      deadline_ns,
      [&] {
        receiver_->drain_turn();
        poll_control_sometimes();
        return ready();
      },
      [&] {
        last_look();
        return ready();
      },
      [&] { return longest_block(); });
  if (was_armed) arm_again();
  return done;
}

}  // namespace beeline
