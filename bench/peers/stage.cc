#include "bench/peers/stage.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "src/os/error.h"
#include "src/os/futex.h"

namespace beeline::bench::peers {
namespace {

// Tells the parent of all the text, because nobody waits for a stream that lost a sender.
[[noreturn]] void end_all(Board& board, const std::string& text) {
  auto& told = board.failure[static_cast<std::size_t>(Side::kPing)];
  text.copy(told.data(), told.size() - 1);
  ::kill(::getppid(), SIGKILL);
  ::_exit(1);
}

}  // namespace

void Gate::raise() {
  word_.value.fetch_add(1, std::memory_order_release);
  (void)os::futex_wake_all(&word_.value);
}

void Gate::await(std::uint32_t value) {
  for (;;) {
    const std::uint32_t now = word_.value.load(std::memory_order_acquire);
    if (now >= value) return;
    (void)os::futex_wait(&word_.value, now, std::chrono::nanoseconds::max());
  }
}

Result<FurtherSenders> FurtherSenders::start(
    Board& board, const PeerCase& what,
    const std::function<Result<void>(std::uint32_t sender)>& play) {
  FurtherSenders others;
  const pid_t parent = ::getpid();
  for (std::uint32_t sender = 1; sender < what.senders; ++sender) {
    const pid_t child = ::fork();
    if (child < 0) return os::system_failure("fork a sender");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      if (const auto done = play(sender); !done) end_all(board, done.error().text);
      ::_exit(0);
    }
    others.children_.push_back(child);
  }
  return others;
}

Result<void> FurtherSenders::wait() {
  for (const pid_t child : children_) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return os::system_failure("wait for a sender");
    }
    if (status != 0) return fail(ErrorCode::kSystem, "a sender was killed");
  }
  return {};
}

}  // namespace beeline::bench::peers
