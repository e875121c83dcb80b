#pragma once
// How an agent waits, for whatever it waits: it drains its in-links all the while, and before each
// block it looks at the control socket and the directory too.

#include <utility>

#include "src/agent/core_path.h"

namespace beeline {

// While it lives, this agent says that it is blocked.
class AgentCore::Blocked {
 public:
  explicit Blocked(AgentCore& core) : core_(core), before_(std::exchange(core.blocked_, true)) {
    core_.show_activity();
  }
  ~Blocked() {
    core_.blocked_ = before_;
    core_.show_activity();
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  AgentCore& core_;
  bool before_;
};

template <typename First, typename Ready, typename Glance>
bool AgentCore::wait_with(std::int64_t deadline_ns, First&& first, Ready&& ready, Glance&& glance) {
  const bool was_armed = armed_;
  disarm();
  const bool done = waiter_->wait(
      deadline_ns,
      [&] {
        if (first()) return true;
        hear();
        drain_turn();
        poll_control_sometimes();
        return ready();
      },
      [&] {
        last_look();
        return ready();
      },
      [&] { return longest_block(); }, glance);
  if (was_armed) arm_again();
  return done;
}

template <typename Ready>
bool AgentCore::wait_until(std::int64_t deadline_ns, Ready&& ready) {
  return wait_with(
      deadline_ns, [] { return false; }, ready, [this] { return receiver_->calls_for_turn(); });
}

template <typename Stop>
std::uint32_t AgentCore::wait_for(const Filter& filter, std::int64_t deadline_ns, Stop&& stop) {
  std::uint32_t at = shm::kNoEntry;
  const auto is_over = [&] {
    const bool has_some =
        receiver_->home().inbox().queued() != 0 && !shm::is_mutant(shm::Mutant::kLookSkipped);
    if (has_some && look_pace_.is_whole_due(os::ticks())) look_at_all();
    if (!has_ended()) at = take(filter);
    return at != shm::kNoEntry || down_ || stop();
  };
  const auto is_alone = [&] { return (at = take_alone(filter)) != shm::kNoEntry; };
  const auto glance = [this] { return receiver_->calls_for_turn(); };
  if (!armed_ && waiter_->glimpse(is_alone, glance)) return at;
  wait_with(deadline_ns, is_alone, is_over, glance);
  return at;
}

}  // namespace beeline
