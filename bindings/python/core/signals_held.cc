#include "bindings/python/core/signals_held.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "bindings/python/core/released.h"

namespace beeline::python {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t held;
  sigfillset(&held);
  // A fault of this thread has to be seen at once.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    sigdelset(&held, fault);
  }
  pthread_sigmask(SIG_SETMASK, &held, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void SignalsHeld::sleep(int descriptor, std::int64_t ns) const {
  const std::int64_t most = std::clamp<std::int64_t>(ns, 0, kNsPerSecond);
  const timespec time{most / kNsPerSecond, most % kNsPerSecond};
  pollfd readable{descriptor, POLLIN, 0};
  const Released released;
  (void)ppoll(&readable, 1, &time, &before_);
}

}  // namespace beeline::python
