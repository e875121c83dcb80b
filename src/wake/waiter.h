#pragma once
// The sleeper's half of the sleeping protocol (bell.h has the waker's).
//
//   glances ... look ... spin (bounded, adaptive) ... say that we sleep ... full fence ...
//   last look ... block
//
// Two ways to block, said in the status word: a futex on the own status page, or the own eventfds,
// which a user may also wait on outside of the library. The futex is the faster one and forgets a
// ring that came between the last look and the kernel; so the first block of a wait is short (2 ms)
// and on the futex, and all later ones are on the eventfds, which remember. A peer of another user
// could move a sleeper from its futex to one of its own: who has such a peer does not use it.

#include <chrono>
#include <cstdint>

#include "shm/mutant.h"
#include "shm/status.h"
#include "src/os/clock.h"
#include "src/wake/bell_set.h"

namespace beeline::wake {

struct WaitPolicy {
  std::int64_t spin_ns = 20'000;  // longest spin; 0 = none
  bool never_sleep = false;       // spin for ever
  bool short_first_wait = true;  // off only in tests, which would not see a missing fence otherwise
};

// Of whoever has no cheaper way to look.
struct Always {
  bool operator()() const { return true; }
};

// A nap of a thread that has no status page of its own, while it waits for space. Longer with each
// round, 1 ms at most.
void nap(int round);

class Waiter {
 public:
  // Neither the page nor the bells are owned; both outlive the waiter. One thread.
  Waiter(shm::StatusPage& own, const BellSet& bells, const WaitPolicy& policy);

  // Waits until `look()` is true (returns true) or the deadline has passed (returns false). `look`
  // is cheap: lanes only. `last_look` is asked after the fence before each block and includes
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
      if (!shm::is_mutant(shm::Mutant::kLastLookSkipped) && last_look()) {
        wake_up();
        return true;
      }
      // The last look may have met the first peer of another user.
      if (how == way_to_block(round)) block(how, deadline_ns, longest_ns());
      wake_up();
      if (look() || last_look()) return true;
    }
  }

  // What comes at once, before a wait reads any clock: the first of a few glances that sees
  // something is followed by a look. False: nothing was seen, or this agent does not spin, or the
  // look has not found what it wants.
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
  // Waits may spin.
  [[nodiscard]] bool spins() const { return policy_.spin_ns != 0; }
  // A moment in which another look would find nothing new.
  static void pause();

  // From now on the eventfds are signalled instead of the futex, between calls into the library
  // too.
  void use_events() { events_ = true; }
  [[nodiscard]] bool uses_events() const { return events_; }

  // Event mode: says "asleep" while the user waits on the fd outside. The caller looks once more
  // afterwards and calls signal_self() if there is something. What rang before is over then, and
  // until then the fd stays readable: who was woken loses no time with it.
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

  // Looks where a glance says so. An eager one does not pause between glances: a pause may cost as
  // much as a cache-line transfer.
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
  // Until what was loaded has come. SUBTLE: the CPU would run ahead into the glances that follow,
  // and when the line changes throw away all that it has done since: on the way of each message
  // that somebody spins for.
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
