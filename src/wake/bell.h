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
// A sleep on the eventfd that goes on for so long after we have rung is rung again: its owner waits
// for a CPU, or somebody has stolen the ring. One on the futex ends by itself before that.
inline constexpr std::int64_t kAgainNs = 10'000'000;

// Where one life of an agent is rung. Not owned. An empty bell rings nobody.
struct Bell {
  const shm::StatusPage* page = nullptr;
  int event_fd = -1;         // ours to ring it with, -1 if unknown
  std::uint64_t rung = 0;    // the sleep that we have ended, as its word named it
  std::int64_t rung_ns = 0;  // when
};

// What is left of ring() where somebody sleeps: kept out of the sends to those who do not.
//
// SUBTLE: nobody but the owner writes the word that the kernel compares, so a futex wake finds the
// owner only if it is already in the kernel. While the word stays as it was and the wake found
// nobody, we yield and try again; after kRingTries the short block on the futex bounds the delay,
// and after kRingNs as well: a yield takes as long as others want the CPU, and the sleeper may be
// stopped, killed, or waiting for us.
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

// Wakes whoever sleeps behind the bell. REQUIRES: what it is to see is published and a full fence
// lies behind it. `now_ns` is the coarse clock now. Returns true where it found somebody in a sleep
// that this bell has not ended, or ended kAgainNs ago in vain.
//
// SUBTLE: but for thieves a sleep is ended once. Whoever was rung says that it sleeps until it gets
// its CPU, and that may take as long as it takes to fill a lane. To sleep again it stores the next
// number, fences and looks at everything; whoever saw the number before that has its own fence
// before that one, so the look finds what it has published. The same ends a ring that finds nobody.
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

// The same for whoever has just sent a packet to the owner, or stored what the owner looks at.
inline bool fence_and_ring(const shm::StatusPage& status, int event_fd) {
  // SYNC(fence.full): what we sent or stored is visible before we look whether it sleeps; pairs
  // with the fence of the sleeper.
  shm::full_fence();
  Bell bell{&status, event_fd};
  return ring(bell, 0);  // it has rung no sleep yet
}

}  // namespace beeline::wake
