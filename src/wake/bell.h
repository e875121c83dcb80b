#pragma once
// The waker's half of the sleeping protocol; the sleeper's half is waiter.h. No other code wakes or
// sleeps.
//
//   waker    publish; full fence; load the sleeper's status word; if it sleeps: ring
//   sleeper  store the status word; full fence; look at everything once more; if there is nothing:
//   block
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

// Where one life of an agent is rung. Not owned. An empty bell rings nobody.
struct Bell {
  const shm::StatusPage* page = nullptr;
  int event_fd = -1;
};

// Wakes the owner of `status` if it sleeps. REQUIRES: what it is to see is published and a full
// fence lies behind it. `event_fd` is ours to ring the owner with, -1 if unknown. Returns true when
// a system call was made.
//
// SUBTLE: nobody but the owner writes the word that the kernel compares, so a futex wake finds the
// owner only if it is already in the kernel. While the word says sleeping and the wake found
// nobody, we yield and try again; after kRingTries the short block on the futex bounds the delay,
// and after kRingNs as well: a yield takes as long as others want the CPU, and the sleeper may be
// stopped, killed, or waiting for us.
inline bool ring(const shm::StatusPage& status, int event_fd) {
  auto sleep = static_cast<shm::Sleep>(status.sleep.relaxed_load());
  if (sleep == shm::Sleep::kAwake) return false;
  std::int64_t start_ns = 0;
  for (int i = 0; i < kRingTries; ++i) {
    if (sleep == shm::Sleep::kEvent) {
      if (event_fd >= 0) os::signal_event(event_fd);
      return true;
    }
    if (os::futex_wake_all(&status.sleep) > 0) return true;
    const std::int64_t now_ns = os::monotonic_ns();
    if (start_ns == 0) start_ns = now_ns;
    if (now_ns - start_ns > kRingNs) return true;
    os::yield();
    sleep = static_cast<shm::Sleep>(status.sleep.relaxed_load());
    if (sleep == shm::Sleep::kAwake) return true;
  }
  return true;
}

// The same for whoever has just sent a packet to the owner, or stored what the owner looks at.
inline bool fence_and_ring(const shm::StatusPage& status, int event_fd) {
  // SYNC(fence.full): what we sent or stored is visible before we look whether it sleeps; pairs
  // with the fence of the sleeper.
  shm::full_fence();
  return ring(status, event_fd);
}

inline bool ring(const Bell& bell) {
  return bell.page != nullptr && ring(*bell.page, bell.event_fd);
}

}  // namespace beeline::wake
