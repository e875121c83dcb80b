#include "src/agent/fd_limit.h"

#include <atomic>
#include <cstdint>

#include "src/os/process.h"

namespace beeline {

namespace {

// The soft limit before the first raise; the largest number: nothing was raised.
std::atomic<std::uint64_t> limit_before{os::kNoFdLimit};

}  // namespace

Result<void> raise_fd_limit_for_peers() {
  const os::FdLimit now = os::fd_limit();
  if (now.soft == now.hard) return {};
  auto raised = os::raise_fd_limit();
  if (raised) limit_before.store(now.soft);
  return raised;
}

void restore_fd_limit_in_child() noexcept {
  os::lower_fd_limit(limit_before.exchange(os::kNoFdLimit));
}

}  // namespace beeline
