// The methods of class Agent that find peers, and those that wait for room.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/agent_info.h"
#include "bindings/python/core/listing.h"
#include "bindings/python/core/peer.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

PyObject* find_peer(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_peer peer{};
  if (!values.read(agent.state(), signature("find_peer", std::array{Name::kTo}), call) ||
      !agent.enter() || !agent.resolve(values[0], &peer)) {
    return nullptr;
  }
  return make_peer(agent.state(), agent.with_slot(peer));
}

PyObject* wait_for(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  std::int64_t timeout_ns = 0;
  const char* name = "";
  std::size_t length = 0;
  constexpr auto kWaitFor = signature("_wait_for", std::array{Name::kTimeoutNs, Name::kName});
  if (!values.read(agent.state(), kWaitFor, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !read_text(values[1], "name", &name, &length) || !agent.enter()) {
    return nullptr;
  }
  beeline_peer peer{};
  beeline_code code = BEELINE_NO_AGENT;
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_wait_for(agent.handle(), name, length, ns, 0, -1, &peer);
    return code == BEELINE_NO_AGENT ? Wait::Turn::kAgain : Wait::Turn::kDone;
  };
  if (!Wait(agent, timeout_ns).run_in_slices(attempt)) return nullptr;
  return code == BEELINE_OK ? make_peer(agent.state(), peer) : raise(agent.state(), code);
}

PyObject* find_peer_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  std::int64_t timeout_ns = 0;
  constexpr auto kStart = signature("find_peer_start", std::array{Name::kTo, Name::kTimeoutNs});
  if (!values.read(agent.state(), kStart, call) ||
      !read_number(values[1], "timeout_ns", &timeout_ns)) {
    return nullptr;
  }
  // A pid is looked up by its digits.
  const Ref name(PyLong_Check(values[0]) ? PyNumber_ToBase(values[0], 10) : Py_NewRef(values[0]));
  if (!name) return nullptr;
  const char* text = "";
  std::size_t length = 0;
  if (!read_text(name.get(), "to", &text, &length) || !agent.enter()) return nullptr;
  beeline_call started = 0;
  const beeline_code code =
      beeline_find_peer_start(agent.handle(), text, length, timeout_ns, &started);
  return code == BEELINE_OK ? PyLong_FromUnsignedLongLong(started) : raise(agent.state(), code);
}

// (call, result); `result` is owned and may be null.
PyObject* call_tuple(beeline_call call, PyObject* result) {
  const Ref owned(result);
  const Ref number(PyLong_FromUnsignedLongLong(call));
  return owned && number ? PyTuple_Pack(2, number.get(), owned.get()) : nullptr;
}

PyObject* next_peer(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_peer", call) || !agent.enter()) return nullptr;
  beeline_call started = 0;
  beeline_code result = BEELINE_OK;
  beeline_peer peer{};
  const beeline_code code = beeline_next_peer(agent.handle(), &started, &result, &peer);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return call_tuple(started, result == BEELINE_OK ? make_peer(agent.state(), peer)
                                                  : exception_of(agent.state(), result));
}

PyObject* list_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "list_start", call) || !agent.enter()) return nullptr;
  beeline_call started = 0;
  const beeline_code code = beeline_list_start(agent.handle(), &started);
  return code == BEELINE_OK ? PyLong_FromUnsignedLongLong(started) : raise(agent.state(), code);
}

PyObject* next_list(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_list", call) || !agent.enter()) return nullptr;
  beeline_call started = 0;
  beeline_code result = BEELINE_OK;
  beeline_agents* agents = nullptr;
  const beeline_code code = beeline_next_list(agent.handle(), &started, &result, &agents);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return call_tuple(
      started, result == BEELINE_OK ? agent_dicts(agents) : exception_of(agent.state(), result));
}

PyObject* forget_call(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_call started = 0;
  if (!values.read(agent.state(), signature("forget_call", std::array{Name::kCall}), call) ||
      !read_id(values[0], "call", &started) || !agent.enter()) {
    return nullptr;
  }
  return PyBool_FromLong(beeline_forget_call(agent.handle(), started));
}

PyObject* want_space(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  bool wanted = false;
  beeline_peer peer{};
  constexpr auto kWantSpace = signature("want_space", std::array{Name::kPeer, Name::kWanted});
  if (!values.read(agent.state(), kWantSpace, call) || !read_flag(values[1], &wanted) ||
      !agent.enter() || !agent.resolve(values[0], &peer)) {
    return nullptr;
  }
  const beeline_code code = beeline_want_space(agent.handle(), agent.with_slot(peer), wanted);
  return code == BEELINE_OK ? Py_NewRef(Py_None) : raise(agent.state(), code);
}

PyObject* next_space(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_space", call) || !agent.enter()) return nullptr;
  beeline_peer peer{};
  const beeline_code code = beeline_next_space(agent.handle(), &peer);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  return code == BEELINE_OK ? make_peer(agent.state(), peer) : raise(agent.state(), code);
}

}  // namespace

PyMethodDef* peer_methods() {
  static PyMethodDef methods[] = {
      method<Agent, find_peer>("find_peer", "A Peer; the first look-up of a name waits."),
      method<Agent, wait_for>("_wait_for", "A Peer, once an agent of that name is there."),
      method<Agent, find_peer_start>("find_peer_start", "next_peer() will have the Peer."),
      method<Agent, next_peer>("next_peer", "(call, the Peer or the exception), or None."),
      method<Agent, list_start>("list_start", "next_list() will have all agents of the hive."),
      method<Agent, next_list>("next_list", "(call, the list or the exception), or None."),
      method<Agent, forget_call>("forget_call", "Gives up a call that was started."),
      method<Agent, want_space>("want_space", "Asks to hear when a peer may have room."),
      method<Agent, next_space>("next_space", "The next Peer of such a wish, or None."),
      {}};
  return methods;
}

}  // namespace beeline::python
