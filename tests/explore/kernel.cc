#include "tests/explore/kernel.h"

#include <cstdlib>
#include <cstring>

#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/futex.h"
#include "src/os/joint_fd.h"
#include "src/os/process.h"
#include "tests/explore/explorer.h"
#include "tests/explore/segments.h"

namespace beeline {

namespace explore {
namespace {

std::uint64_t taken[kEvents];  // rings that the owner of each eventfd has had
int next_event = 0;

std::uint64_t* counters() {
  return reinterpret_cast<std::uint64_t*>(segment("eventfds", kEvents * 8));
}

}  // namespace

void number_next_event(int number) { next_event = number; }

void clear_events() {
  std::memset(counters(), 0, kEvents * 8);
  std::memset(taken, 0, sizeof(taken));
}

}  // namespace explore

namespace os {

using namespace explore;  // NOLINT(google-build-using-namespace)

void UniqueFd::reset(int fd) noexcept { fd_ = fd < 0 ? -1 : fd; }    // a number: nothing to close
int UniqueFd::move_up(int fd) noexcept { return fd < 0 ? -1 : fd; }  // likewise: none is ours

beeline::Result<UniqueFd> create_event_fd() { return UniqueFd(next_event); }

// Nobody has a peer of another user, so nobody waits on it.
beeline::Result<UniqueFd> create_joint_fd() { return UniqueFd(kEvents); }
beeline::Result<void> add_to_joint(int /*joint*/, int /*fd*/) { return {}; }
void remove_from_joint(int /*joint*/, int /*fd*/) noexcept {}
std::size_t ready_in_joint(int /*joint*/, std::span<int> /*ready*/) noexcept { std::abort(); }

void signal_event(int fd) noexcept { explorer().kernel_add(counters()[fd]); }

bool wait_readable(int fd, std::chrono::nanoseconds /*timeout*/) noexcept {
  taken[fd] = explorer().kernel_wait(counters()[fd], taken[fd]);
  return true;
}

bool drain_event(int /*fd*/) noexcept { return true; }  // wait_readable() took the rings

int usable_cpus() noexcept { return 1; }  // so that no thread spins
void yield() noexcept {}

// Scenarios sleep on eventfds. The futex that forgets a ring is in tests/spin/wake.pml.
WaitOutcome futex_wait(const void* /*word*/, std::uint32_t /*expected*/,
                       std::chrono::nanoseconds /*timeout*/) noexcept {
  std::abort();
}
int futex_wake_all(const void* /*word*/) noexcept { std::abort(); }

}  // namespace os
}  // namespace beeline
