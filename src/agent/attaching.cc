#include <beeline/attaching.h>

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "src/agent/core.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"

namespace beeline {

// The helper thread and the caller own it together.
struct Attaching::Shared {
  using Attached = Result<std::unique_ptr<AgentCore>>;

  void settle(Attached attached) {
    {
      const std::lock_guard lock(mutex);
      result = std::move(attached);
    }
    os::signal_event(event.get());
  }
  // Nothing before it has settled, and after it was taken.
  std::optional<Attached> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(result, std::nullopt);
  }

  os::UniqueFd event;
  std::mutex mutex;
  std::optional<Attached> result;
  bool is_taken = false;  // the caller's thread alone
};

namespace {

// A thread inherits the signals that its creator blocks. The handlers of the user run in none of
// ours.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// No exception may leave a thread.
Result<std::unique_ptr<AgentCore>> attach(const AttachOptions& options) {
  try {
    return AgentCore::attach(options);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kNoMemory, "attach: there is no memory; nothing was attached");
  }
}

}  // namespace

Result<Attaching> Attaching::start(const AttachOptions& options) {
  auto event = os::create_event_fd();
  if (!event) return tl::unexpected(event.error());
  auto shared = std::make_shared<Shared>();
  shared->event = std::move(*event);
  const AllSignalsBlocked blocked;
  try {
    std::thread([shared, options] { shared->settle(attach(options)); }).detach();
  } catch (const std::system_error& error) {
    return tl::unexpected(Error{
        ErrorCode::kSystem, error.code().value(),
        std::string("attach: no thread could be started: ") + std::strerror(error.code().value())});
  }
  return Attaching(std::move(shared));
}

int Attaching::fd() const { return shared_ == nullptr ? -1 : shared_->event.get(); }

Result<Agent> Attaching::finish() {
  if (shared_ == nullptr || std::exchange(shared_->is_taken, true)) {
    return fail(ErrorCode::kInvalid, "attach: finish() was called before; start another attach");
  }
  for (;;) {
    if (auto attached = shared_->take()) {
      if (!*attached) return tl::unexpected(std::move(attached->error()));
      return Agent(std::move(**attached));
    }
    (void)os::wait_readable(shared_->event.get(), std::chrono::nanoseconds::max());
  }
}

}  // namespace beeline
