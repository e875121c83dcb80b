#include "tools/beeline/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "src/os/error.h"

namespace beeline::cli {

Result<Signals> Signals::block(std::initializer_list<int> numbers) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : numbers) ::sigaddset(&wanted, number);
  Signals signals;
  signals.fd_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_.valid()) return os::system_failure("cannot make a signalfd");
  if (::sigprocmask(SIG_BLOCK, &wanted, &signals.before_) != 0) {
    signals.fd_.reset();
    return os::system_failure("cannot block signals");
  }
  return signals;
}

Signals::Signals(Signals&& other) noexcept : fd_(std::move(other.fd_)), before_(other.before_) {}

Signals::~Signals() {
  if (!fd_.valid()) return;
  // Take the signals that are pending: once unblocked they would kill us, and nobody needs them any
  // more.
  while (take()) {
  }
  (void)::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<Signals::Taken> Signals::take() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return Taken{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace beeline::cli
