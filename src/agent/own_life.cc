#include "src/agent/own_life.h"

namespace beeline {

// The word has changed since this life counted last.
bool OwnLife::counts_in(std::uint64_t word) {
  if (!shm::has_ended(shm::AgentWord::unpack(word), identity_.incarnation)) {
    counted_ = word;
    return true;
  }
  end();
  return false;
}

void OwnLife::end() {
  attached_ = false;
  go_down();
}

void OwnLife::go_down() {
  if (down_) return;
  down_ = true;
  leave();
  notices_.add({Notice::Kind::kShutdown, 1, "king"});
}

// From here on nothing is sent any more: a successor would not know of it.
void OwnLife::leave() {
  const auto lock = lock_send();
  left_.store(true,
              std::memory_order_relaxed);  // relaxed: looked at under the lock where it counts
}

void OwnLife::close() {
  attached_ = false;
  down_ = true;
}

void OwnLife::become_a_copy() {
  forked_ = true;
  left_.store(true, std::memory_order_relaxed);  // relaxed: one thread
  close();
}

std::string OwnLife::why_down() const {
  return has_ended()
             ? "this life of the agent has ended: it detached, or another one took its name; "
               "attach again"
             : "the hive went down; attach starts it again";
}

}  // namespace beeline
