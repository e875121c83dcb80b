#pragma once
// The sleeper's half of the sleeping protocol (bell.h has the waker's).
//
//   glances ... look ... spin (bounded, adaptive) ... say that we sleep ... full fence ...
//   last look ... block
//
// The status word says which of two ways to block is in use: a futex on the own status page, or the
// own eventfds, which a user may also wait on outside of the library. The futex is faster, but it
// forgets a ring that comes between the last look and the kernel. So the first block of a wait is
// on the futex and short (2 ms), and all later ones are on the eventfds, which remember. A peer of
// another user could move a sleeper from our futex to one of its own, so an agent with such a peer
// uses no futex.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "shm/status.h"
#include "src/os/clock.h"
#include "src/wake/bell_set.h"

namespace beeline::wake {

struct WaitPolicy {
  std::int64_t spin_ns = 20'000;  // longest spin; 0 = none
  std::int64_t try_ns = 10'000;   // a sender tries so long for space; 0 = not at all
  bool never_sleep = false;       // spin for ever
  bool short_first_wait = true;  // off only in tests, which would not see a missing fence otherwise
};

// For callers that have no cheaper way to look.
struct Always {
  bool operator()() const { return true; }
};

// Naps while waiting for space, in a thread that has no status page of its own. Naps get longer
// with each round, up to 1 ms.
void nap(int round);

class Waiter {
 public:
  // Neither the page nor the bells are owned; both outlive the waiter. One thread.
  Waiter(shm::StatusPage& own, const BellSet& bells, const WaitPolicy& policy);

  // Waits until `look()` is true (returns true) or the deadline has passed (returns false). `look`
  // is cheap: lanes only. `last_look` is called after the fence before each block and covers
  // everything that rings this agent. `longest_ns()` bounds one block. `deadline_ns` is
  // CLOCK_MONOTONIC. `glance` is cheaper than `look`: while it is false a spin looks only now and
  // then.
  template <typename Look, typename LastLook, typename Longest, typename Glance = Always>
  bool wait(std::int64_t deadline_ns, Look&& look, LastLook&& last_look, Longest&& longest_ns,
            Glance&& glance = {}) {
    if (look() || spin(deadline_ns, look, glance)) return true;
    for (int round = 0;; ++round) {
      if (os::monotonic_ns() >= deadline_ns) return last_look();
      const auto how = way_to_block(round);
      say_asleep(how);
      if (last_look()) {
        wake_up();
        return true;
      }
      // The last look may have met the first peer of another user.
      if (how == way_to_block(round)) block(how, deadline_ns, longest_ns());
      wake_up();
      if (look() || last_look()) return true;
    }
  }

  // Catches a message that comes at once, before a wait reads any clock: glances a few times and
  // looks after the first glance that sees something. False: no glance saw anything, this agent
  // does not spin, or the look did not find its message.
  template <typename Look, typename Glance>
  [[nodiscard]] bool glimpse(Look&& look, Glance&& glance) {
    if (!spins()) return false;
    for (int i = 0; i < kGlances; ++i) {
      if (!glance()) {
        await_loads();
        continue;
      }
      const bool found = look();
      if (found) adapt(true);
      return found;
    }
    return false;
  }
  // Tries for a moment before a wait for space. A receiver that is at work makes space soon; a
  // sleep would cost both a wake-up for each lane that is full. False: wait.
  template <typename Try>
  [[nodiscard]] bool try_briefly(std::int64_t deadline_ns, Try&& attempt) {
    if (policy_.try_ns == 0) return false;
    const std::int64_t end = std::min(os::monotonic_ns() + policy_.try_ns, deadline_ns);
    do {
      if (attempt()) return true;
      pause();
    } while (os::monotonic_ns() < end);
    return false;
  }
  // True if waits may spin.
  [[nodiscard]] bool spins() const { return policy_.spin_ns != 0; }
  // Pauses for a moment in which another look would find nothing new.
  static void pause();

  // From now on peers signal the eventfds instead of the futex, between calls into the library too.
  void use_events() { events_ = true; }
  [[nodiscard]] bool uses_events() const { return events_; }

  // Event mode: says "asleep" while the user waits on the fd outside. Earlier rings are taken out
  // here. Until this call the fd stays readable, so a woken user loses no time. The caller looks
  // once more afterwards and calls signal_self() if there is something.
  void fall_asleep() {
    drain_events();
    say_asleep(shm::Sleep::kEvent);
  }
  void wake_up();
  void signal_self();
  void drain_events();

  [[nodiscard]] shm::StatusPage& status() { return *own_; }

 private:
  // Spins for the adaptive window. The window doubles when a spin succeeds and halves when it does
  // not.
  template <typename Look, typename Glance>
  bool spin(std::int64_t deadline_ns, Look&& look, Glance&& glance) {
    if (!policy_.never_sleep && window_ns_ == 0) return false;
    const std::int64_t start = os::monotonic_ns();
    const std::int64_t end = policy_.never_sleep ? deadline_ns : start + window_ns_;
    bool found = false;
    int round = 0;
    for (std::int64_t now = start; !found && now < end && now < deadline_ns; ++round) {
      found = stare(look, glance, round < kEagerRounds) || look();
      if (!found) now = os::monotonic_ns();
    }
    adapt(found);
    return found;
  }

  // Glances, and looks after a glance that sees something. An eager stare does not pause between
  // glances (docs/cache-lines.md, Glances that wait).
  template <typename Look, typename Glance>
  static bool stare(Look&& look, Glance&& glance, bool eager) {
    for (int i = 0; i < kGlances; ++i) {
      const bool seen = glance();
      if (seen && look()) return true;
      if (seen || !eager) {
        pause();
      } else {
        await_loads();
      }
    }
    return false;
  }
  // SUBTLE: waits until all loads are done (docs/cache-lines.md, Glances that wait).
  static void await_loads() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#endif
  }
  static constexpr int kGlances = 64;
  static constexpr int kEagerRounds = 32;

  void adapt(bool found);
  [[nodiscard]] shm::Sleep way_to_block(int round) const {
    const bool on_events = events_ || bells_->has_foreign() || round > 0;
    return on_events ? shm::Sleep::kEvent : shm::Sleep::kFutex;
  }
  void say_asleep(shm::Sleep how);
  void block(shm::Sleep how, std::int64_t deadline_ns, std::int64_t longest_ns);

  shm::StatusPage* own_;
  const BellSet* bells_;
  WaitPolicy policy_;
  std::int64_t window_ns_;
  bool events_ = false;
  std::uint32_t jitter_ = 1;
};

}  // namespace beeline::wake
