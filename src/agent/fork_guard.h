#pragma once
// A forked child shares its parent's control socket and none of its segments: an agent of the
// parent is dead in the child from the start.

namespace beeline {

class AgentCore;

// While it exists, a fork tells the child's copy of the core. It belongs to the thread of its
// agent.
class ForkGuard {
 public:
  explicit ForkGuard(AgentCore& core);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  AgentCore* core_;
};

}  // namespace beeline
