#include "bindings/python/core/attachment.h"

#include <charconv>

#include "bindings/python/core/peer.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"

namespace beeline::python {

Attachment::Attachment(State& state, beeline_agent* handle, const AgentTypes& types,
                       Patience patience)
    : state_(state),
      handle_(handle),
      pid_(beeline_agent_pid(handle)),
      incarnation_(beeline_agent_incarnation(handle)),
      name_(PyUnicode_FromString(beeline_agent_name(handle))),
      types_(types),
      patience_(patience),
      owner_(PyThread_get_thread_ident()),
      forks_(fork_count()) {
  for (PyTypeObject* type : {types_.message, types_.loan, types_.task_run}) {
    Py_INCREF(reinterpret_cast<PyObject*>(type));
  }
}

Attachment::~Attachment() {
  if (is_void()) {
    orphans_.forget();
  } else {
    if (handle_ != nullptr) end();
    // Objects that died in another thread meanwhile, and the calls of other threads, have ended.
    orphans_.free_all();
    beeline_sender_free(sender_);
  }
  for (PyTypeObject* type : {types_.message, types_.loan, types_.task_run}) {
    Py_DECREF(reinterpret_cast<PyObject*>(type));
  }
}

bool Attachment::begin() {
  if (!name_) return false;
  const beeline_code code = beeline_sender_new(handle_, &sender_);
  if (code != BEELINE_OK) raise(state_, code);
  return code == BEELINE_OK;
}

bool Attachment::refuse(bool needs_open) {
  if (is_copy()) {
    raise_plain(state_.forked_error(),
                "this process is a fork, and the agent belongs to its parent: attach another agent "
                "after the fork, or start processes with the method `spawn`");
  } else if (owner_ != PyThread_get_thread_ident()) {
    raise_plain(state_.wrong_thread(),
                "this agent belongs to the thread that attached it: call it there "
                "(loop.call_soon_threadsafe()), or send with send_threadsafe()");
  } else if (needs_open) {
    raise_with(state_, BEELINE_CLOSED,
               "this agent is closed, and everything that came from it has ended: attach again");
  } else {
    return true;
  }
  return false;
}

bool Attachment::enter_any_thread() {
  if (is_copy()) return refuse(true);
  if (!is_closed_) return true;
  raise_with(state_, BEELINE_CLOSED, "this agent is closed: attach again");
  return false;
}

bool Attachment::find(const char* name, std::size_t length, beeline_peer* peer) {
  beeline_code code = BEELINE_OK;
  {
    const Released released;
    code = beeline_find_peer(handle_, name, length, peer);
  }
  if (code != BEELINE_OK) raise(state_, code);
  return code == BEELINE_OK;
}

bool Attachment::resolve(PyObject* to, beeline_peer* peer) {
  if (Py_TYPE(to) == state_.type(Kind::kPeer)) {
    *peer = reinterpret_cast<Peer*>(to)->peer;
    return true;
  }
  if (PyLong_Check(to)) {
    beeline_pid pid = 0;
    if (!read_number(to, "to", &pid)) return false;
    if (linked_.contains(pid)) {
      *peer = beeline_peer_of(pid);
      return true;
    }
    char text[16];
    const auto end = std::to_chars(text, text + sizeof text, pid).ptr;
    if (!find(text, static_cast<std::size_t>(end - text), peer)) return false;
    linked_[pid] = *peer;
    return true;
  }
  if (PyUnicode_Check(to)) {
    Py_ssize_t length = 0;
    const char* name = PyUnicode_AsUTF8AndSize(to, &length);
    return name != nullptr && find(name, static_cast<std::size_t>(length), peer);
  }
  PyErr_Format(PyExc_TypeError, "`to` is a Peer, a pid or the name of an agent, not %S",
               type_name(to).get());
  return false;
}

beeline_peer Attachment::with_slot(beeline_peer peer) const {
  const auto known = linked_.find(peer.pid);
  return peer.slot == UINT32_MAX && known != linked_.end() ? known->second : peer;
}

void Attachment::drop_view() {
  --views_;
  if (views_ == 0 && is_closed_ && !is_void()) end();
}

bool Attachment::close(bool force) {
  if (is_closed_) return true;
  if (views_ > 0 && !force) {
    raise_views("agent's messages and loans", "close", views_);
    return false;
  }
  is_closed_ = true;
  if (views_ == 0) {
    end();
    return true;
  }
  beeline_code code = BEELINE_OK;
  {
    const Released released;
    code = beeline_detach(handle_, 0, nullptr);
  }
  if (code != BEELINE_OK) raise(state_, code);
  return code == BEELINE_OK;
}

void Attachment::end() {
  for (const KeptAnswer& answer : std::exchange(kept_answers_, {})) {
    beeline_message_free(answer.message);
  }
  orphans_.free_all();
  is_ending_ = true;
  {
    beeline_agent* const handle = std::exchange(handle_, nullptr);
    // Calls of other threads that have begun may wait for the GIL on their way out.
    const Released released;
    beeline_close(handle);
  }
  is_ending_ = false;
  orphans_.free_all();
}

}  // namespace beeline::python
