#pragma once
// The waker's half of the sleeping protocol; the sleeper's half is waiter.h. No other code wakes or
// sleeps.
//
//   waker    publish; full fence; load the sleeper's status word; if it sleeps, and we have not
//            ended that sleep yet (or 10 ms ago in vain): ring
//   sleeper  store the status word, with the number of the sleep; full fence; look at everything
//            once more; if there is nothing: block
//
// Both fences are needed: without one of them both sides can miss each other (measured: 1,007 of
// 300,000).

#include "shm/atomic.h"
#include "shm/status.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/futex.h"
#include "src/os/process.h"

namespace beeline::wake {

inline constexpr int kRingTries = 64;
inline constexpr std::int64_t kRingNs = 2'000'000;  // as long as the short block
// Ring a sleep on the eventfd again if it still goes on after this time: the sleeper waits for a
// CPU, or another process has stolen the ring. A sleep on the futex ends by itself before that.
inline constexpr std::int64_t kAgainNs = 10'000'000;

// The place to ring one life of an agent. Not owned. An empty bell rings no agent.
struct Bell {
  const shm::StatusPage* page = nullptr;
  int event_fd = -1;         // the eventfd that we ring it with, -1 if unknown
  std::uint64_t rung = 0;    // the status word of the sleep that we have ended
  std::int64_t rung_ns = 0;  // the time at which we rang
};

// The rest of ring() for a receiver that sleeps; kept apart so that a send to one that is awake
// stays short.
//
// SUBTLE: only the sleeper writes the word that the kernel compares, so a futex wake finds the
// sleeper only once it is in the kernel. While the word is unchanged and the wake found no sleeper,
// we yield and try again. We stop after kRingTries, or after kRingNs: a yield lasts as long as
// other threads want the CPU, and the sleeper may be stopped, killed, or waiting for us. Stopping
// is safe because the block on the futex is short.
[[gnu::noinline]] inline void end_sleep(Bell& bell, std::uint64_t word, std::int64_t now_ns) {
  const auto& sleep = bell.page->sleep;
  bell.rung_ns = now_ns;
  if (shm::how_asleep(word) == shm::Sleep::kEvent) {
    if (bell.event_fd < 0) return;
    os::signal_event(bell.event_fd);
    bell.rung = word;
    return;
  }
  std::int64_t start_ns = 0;
  for (int i = 0; i < kRingTries && sleep.relaxed_load() == word; ++i) {
    if (os::futex_wake_all(&sleep) > 0) {
      bell.rung = word;
      return;
    }
    const std::int64_t tried_ns = os::monotonic_ns();
    if (start_ns == 0) start_ns = tried_ns;
    if (tried_ns - start_ns > kRingNs) return;
    os::yield();
  }
}

// Wakes the agent behind the bell if it sleeps. REQUIRES: the caller has published everything that
// the agent is to see, and made a full fence after that. `now_ns` is the coarse clock now. Returns
// true if the agent was in a sleep that this bell has not ended, or ended kAgainNs ago in vain.
//
// SUBTLE: ring each sleep at most once (a stolen wake-up is retried after kAgainNs). A woken agent
// still reads as asleep until the scheduler runs it, which may take as long as filling a lane. Not
// ringing again is safe: before it sleeps again it stores the next sleep number, fences and checks
// everything once more. A sender that read the old number has fenced before that fence, so the
// check finds what it published. The same argument covers a ring that finds no sleeper.
inline bool ring(Bell& bell, std::int64_t now_ns) {
  if (bell.page == nullptr) return false;
  const std::uint64_t word = bell.page->sleep.relaxed_load();
  const shm::Sleep how = shm::how_asleep(word);
  if (how == shm::Sleep::kAwake) return false;
  const bool may_be_stolen = how == shm::Sleep::kEvent && now_ns - bell.rung_ns >= kAgainNs;
  if (word == bell.rung && !may_be_stolen) return false;
  end_sleep(bell, word, now_ns);
  return true;
}

// For a caller that has just sent a packet to the agent, or stored a word that it looks at.
inline bool fence_and_ring(const shm::StatusPage& status, int event_fd) {
  // SYNC(fence.full): the packet or the word is visible before we look whether the agent sleeps;
  // pairs with the fence of the sleeper.
  shm::full_fence();
  Bell bell{&status, event_fd};
  return ring(bell, 0);  // it has rung no sleep yet
}

}  // namespace beeline::wake
