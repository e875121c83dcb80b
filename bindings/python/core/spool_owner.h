#pragma once
// The C spool behind a Spool object.

#include <beeline/c/spool.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "bindings/python/core/failure.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

// Sets the exception for a call of the task folder that has just failed in this thread. Returns
// null, for `return`.
PyObject* raise_spool(beeline_spool_code code);

// Any thread may call it; one at a time is in the library. The GIL is never taken while the lock is
// held.
class SpoolOwner {
 public:
  SpoolOwner(State& state, beeline_spool* handle, std::int64_t poll_every_ns)
      : state_(state), handle_(handle), poll_every_ns_(poll_every_ns), forks_(fork_count()) {}
  SpoolOwner(const SpoolOwner&) = delete;
  SpoolOwner& operator=(const SpoolOwner&) = delete;
  // Without the GIL. In a forked child, and when the interpreter ends, nothing is put back: the
  // kernel tells others when this process has ended.
  ~SpoolOwner() {
    if (!is_void()) beeline_spool_close(handle_);
  }

  [[nodiscard]] State& state() const { return state_; }
  [[nodiscard]] std::int64_t poll_every_ns() const { return poll_every_ns_; }
  [[nodiscard]] bool is_void() const { return forks_ != fork_count() || state_.is_ending(); }
  [[nodiscard]] bool is_closed() const { return handle_ == nullptr; }

  // Calls `work(handle)` without the GIL. False: an exception is set.
  template <typename Work>
  [[nodiscard]] bool run(const Work& work);
  // The same for a claim, which knows that its spool was closed.
  template <typename Work>
  [[nodiscard]] bool run_claim(const Work& work);
  // The same for a claim that is dropped: no exception is set.
  template <typename Work>
  void drop(const Work& work);
  void close();

 private:
  [[nodiscard]] bool refuse_copy() const;

  State& state_;
  beeline_spool* handle_;  // the lock and the GIL guard it
  std::int64_t poll_every_ns_;
  unsigned forks_;
  std::mutex lock_;
};

inline bool SpoolOwner::refuse_copy() const {
  if (forks_ == fork_count()) return false;
  raise_plain(state_.forked_error(),
              "this process is a fork, and the spool belongs to its parent: open another one after "
              "the fork, or start processes with the method `spawn`");
  return true;
}

template <typename Work>
bool SpoolOwner::run(const Work& work) {
  if (refuse_copy()) return false;
  bool is_open = false;
  {
    const Released released;
    const std::scoped_lock lock(lock_);
    is_open = handle_ != nullptr;
    if (is_open) work(handle_);
  }
  if (!is_open) raise_with(state_, BEELINE_CLOSED, "this spool is closed: open another one");
  return is_open;
}

template <typename Work>
bool SpoolOwner::run_claim(const Work& work) {
  if (refuse_copy()) return false;
  drop(work);
  return true;
}

template <typename Work>
void SpoolOwner::drop(const Work& work) {
  const Released released;
  const std::scoped_lock lock(lock_);
  work();
}

inline void SpoolOwner::close() {
  if (is_void()) return;
  const Released released;
  const std::scoped_lock lock(lock_);
  beeline_spool_close(std::exchange(handle_, nullptr));
}

}  // namespace beeline::python
