#pragma once
// An attached agent and its owner.

#include <beeline/c.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "bindings/python/core/failure.h"
#include "bindings/python/core/orphans.h"
#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"
#include "bindings/python/core/state.h"
#include "bindings/python/core/word_cache.h"

namespace beeline::python {

// How a wait passes its time before it sleeps.
struct Patience {
  std::int32_t wait = BEELINE_WAIT_ADAPTIVE;
  std::int64_t spin_ns = 0;
};

// The classes of the objects that an agent makes.
struct AgentTypes {
  PyTypeObject* agent = nullptr;
  PyTypeObject* message = nullptr;
  PyTypeObject* loan = nullptr;
  PyTypeObject* task_run = nullptr;
};

// An answer that was fetched: a message, or the exception that says why there is none.
struct KeptAnswer {
  beeline_id id = 0;
  beeline_message* message = nullptr;
  Ref error;
};

// The C agent behind an Agent object. One thread owns it: the one that attached it. Every call
// begins with enter(), after its arguments were read, since reading them may run Python code.
class Attachment {
 public:
  Attachment(State& state, beeline_agent* handle, const AgentTypes& types, Patience patience);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  // Closes the agent, in any thread: nobody is in a call of it. Does nothing in a forked child and
  // at the end of the interpreter.
  ~Attachment();

  // Whether this thread may call the agent now. False: an exception says why not.
  [[nodiscard, gnu::always_inline]] bool enter() {
    if (forks_ == fork_count() && owner_ == PyThread_get_thread_ident() && !is_closed_) [[likely]] {
      if (!orphans_.empty()) [[unlikely]]
        orphans_.free_all();
      return true;
    }
    return refuse(true);
  }
  // The same for calls that an object of a closed agent allows.
  [[nodiscard]] bool enter_closed() {
    return (forks_ == fork_count() && owner_ == PyThread_get_thread_ident()) || refuse(false);
  }
  // The same for calls that any thread may make.
  [[nodiscard]] bool enter_any_thread();
  // Refuses a fork only.
  [[nodiscard]] bool is_copy() const { return forks_ != fork_count(); }

  [[nodiscard]] beeline_agent* handle() const { return handle_; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  [[nodiscard]] State& state() const { return state_; }
  [[nodiscard]] beeline_pid pid() const { return pid_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  // A str; null where there was no memory for it.
  [[nodiscard]] PyObject* name() const { return name_.get(); }
  [[nodiscard]] const AgentTypes& types() const { return types_; }
  [[nodiscard]] Patience patience() const { return patience_; }
  [[nodiscard]] WordCache& words() { return words_; }
  // For other threads.
  [[nodiscard]] beeline_sender* sender() const { return sender_; }
  // The first step of its life. False: an exception is set.
  [[nodiscard]] bool begin();

  // The receiver of a call: a Peer, a pid or a name. A name, and a pid without a link, costs a
  // control call without the GIL. False: an exception is set.
  [[nodiscard]] bool resolve(PyObject* to, beeline_peer* peer);
  [[nodiscard]] bool find(const char* name, std::size_t length, beeline_peer* peer);
  // With the number of its link, for beeline_want_space().
  [[nodiscard]] beeline_peer with_slot(beeline_peer peer) const;

  // Frees a handle now, or in the next call of the owner, or never.
  template <auto Free, typename Handle>
  void free(Handle* handle);

  // Views of payloads and loans.
  [[nodiscard]] std::size_t views() const { return views_; }
  void add_view() { ++views_; }
  void drop_view();

  // See Agent._close(). False: an exception is set.
  [[nodiscard]] bool close(bool force);

  // Answers that a wait for another one has fetched.
  [[nodiscard]] std::deque<KeptAnswer>& kept_answers() { return kept_answers_; }

 private:
  bool refuse(bool needs_open);
  // The hive is not told, and no memory is touched.
  [[nodiscard]] bool is_void() const { return is_copy() || state_.is_ending(); }
  void end();

  State& state_;
  beeline_agent* handle_;
  beeline_pid pid_;
  std::uint64_t incarnation_;
  Ref name_;
  beeline_sender* sender_ = nullptr;
  AgentTypes types_;  // counted, but for that of the agent itself
  Patience patience_;
  unsigned long owner_;
  unsigned forks_;
  bool is_closed_ = false;
  bool is_ending_ = false;  // the library closes the agent without the GIL
  std::size_t views_ = 0;
  Orphans orphans_;
  WordCache words_;
  std::unordered_map<beeline_pid, beeline_peer> linked_;
  std::deque<KeptAnswer> kept_answers_;
};

template <auto Free, typename Handle>
void Attachment::free(Handle* handle) {
  if (handle == nullptr || is_void()) return;
  if (owner_ == PyThread_get_thread_ident() && !is_ending_) return Free(handle);
  orphans_.add(handle, [](void* orphan) { Free(static_cast<Handle*>(orphan)); });
}

}  // namespace beeline::python
