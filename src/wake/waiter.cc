#include "src/wake/waiter.h"

#include <algorithm>
#include <thread>

#include "src/os/event_fd.h"
#include "src/os/futex.h"
#include "src/os/process.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace beeline::wake {

namespace {

constexpr std::int64_t kFirstWait = 2'000'000;
constexpr std::int64_t kSmallestWindow = 1'000;

// With one CPU the peer can do nothing while we spin.
WaitPolicy usable(WaitPolicy policy) {
  if (os::usable_cpus() < 2) policy.spin_ns = policy.try_ns = 0;
  return policy;
}

}  // namespace

void nap(int round) {
  constexpr std::int64_t kShortest = 20'000;
  constexpr std::int64_t kLongest = 1'000'000;
  const std::int64_t length = std::min(kLongest, kShortest << std::min(round, 8));
  std::this_thread::sleep_for(std::chrono::nanoseconds(length));
}

Waiter::Waiter(shm::StatusPage& own, const BellSet& bells, const WaitPolicy& policy)
    : own_(&own), bells_(&bells), policy_(usable(policy)), window_ns_(policy_.spin_ns) {
  jitter_ = static_cast<std::uint32_t>(os::monotonic_ns()) | 1U;
}

void Waiter::say_asleep(shm::Sleep how) {
  own_->sleep.relaxed_store(shm::next_sleep(own_->sleep.relaxed_load(), how));
  // SYNC(wake.sleep): pairs with the fence of the waker between its publish and its load of
  // `sleep`. Without it the last look may come before a waker can see that we sleep. A waker that
  // still sees the sleep before this one, for which it has rung us, has published before our look.
  shm::full_fence();
}

void Waiter::wake_up() {
  // relaxed: a waker that still sees us asleep only rings once too often.
  own_->sleep.relaxed_store(shm::awake_after(own_->sleep.relaxed_load()));
}

void Waiter::signal_self() { bells_->signal_self(); }

void Waiter::drain_events() { bells_->drain(); }

void Waiter::pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void Waiter::adapt(bool found) {
  if (found) {
    window_ns_ = std::min(policy_.spin_ns, std::max(window_ns_ * 2, kSmallestWindow));
  } else {
    window_ns_ = std::max(window_ns_ / 2, std::min(policy_.spin_ns, kSmallestWindow));
  }
}

void Waiter::block(shm::Sleep how, std::int64_t deadline_ns, std::int64_t longest_ns) {
  // xorshift: up to a tenth less, so that a thousand idle agents do not look all at once.
  jitter_ ^= jitter_ << 13;
  jitter_ ^= jitter_ >> 17;
  jitter_ ^= jitter_ << 5;
  std::int64_t longest = longest_ns - longest_ns / 10 * (jitter_ & 0xff) / 256;
  if (how == shm::Sleep::kFutex && policy_.short_first_wait) {
    longest = std::min(longest, kFirstWait);
  }
  const std::int64_t left = std::min(longest, deadline_ns - os::monotonic_ns());
  if (left <= 0) return;
  own_->sleeps.relaxed_store(own_->sleeps.relaxed_load() + 1);
  if (how == shm::Sleep::kEvent) {
    if (os::wait_readable(bells_->fd(), std::chrono::nanoseconds(left))) drain_events();
    return;
  }
  (void)os::futex_wait(&own_->sleep, shm::futex_word(own_->sleep.relaxed_load()),
                       std::chrono::nanoseconds(left));
}

}  // namespace beeline::wake
