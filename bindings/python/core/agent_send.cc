// The methods of class Agent that send.

#include <algorithm>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/draft.h"
#include "bindings/python/core/listing.h"
#include "bindings/python/core/loan.h"
#include "bindings/python/core/peer.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

constexpr std::array kToAndPayload = {Name::kTo, Name::kPayload};

constexpr char kSendDoc[] =
    "_send($self, to, payload, *, timeout=None, **options)\n--\n\n"
    "Sends, and returns the id once the message lies in the receiver's lane.\n\n"
    "`timeout`: None: now or never; a number: the longest wait for room. `payload` is copied,\n"
    "once. Raises the SendError that says why nothing was sent, Full for example.";

constexpr auto kSendNowait = signature("send_nowait", kToAndPayload, 2, kSendOptions);

PyObject* send_nowait(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kSendNowait.names.size()> values;
  Draft draft;
  if (!values.read(agent.state(), kSendNowait, call) || !draft.read(values[1], values.from(2)) ||
      !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code =
      copying(draft.payload.size(), [&] { return draft.send(agent, 0, &id); });
  return id_or_raise(agent, code, id);
}

// The options of a send behind its longest wait.
constexpr std::array kTimedOptions = [] {
  std::array<Name, kSendOptions.size() + 1> all{Name::kTimeout};
  std::copy(kSendOptions.begin(), kSendOptions.end(), all.begin() + 1);
  return all;
}();
constexpr auto kSend = signature("send", kToAndPayload, 2, kTimedOptions);

PyObject* send(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kSend.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kSend, call) || !read_timeout(values[2], &timeout_ns) ||
      !draft.read(values[1], values.from(3)) || !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  const auto attempt = [&](std::int64_t ns) { code = draft.send(agent, ns, &id); };
  copying(draft.payload.size(), [&] { attempt(0); });
  const bool has_no_room = code == BEELINE_FULL || code == BEELINE_RATE_LIMITED;
  if (has_no_room && timeout_ns != 0 &&
      !wait_for_room(agent, agent.with_slot(draft.peer), timeout_ns, draft.payload.size(), code,
                     attempt)) {
    return nullptr;
  }
  return id_or_raise(agent, code, id);
}

constexpr auto kSendThreadsafe = signature("send_threadsafe", kToAndPayload, 2, kTimedOptions);

PyObject* send_threadsafe(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kSendThreadsafe.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kSendThreadsafe, call) || !read_timeout(values[2], &timeout_ns) ||
      !draft.read(values[1], values.from(3)) || !agent.enter_any_thread()) {
    return nullptr;
  }
  if (Py_TYPE(values[0]) != agent.state().type(Kind::kPeer)) {
    PyErr_Format(PyExc_TypeError,
                 "send_threadsafe() takes a Peer, because only the agent's own thread can look up "
                 "a pid or a name: find_peer() there, once; not %S",
                 type_name(values[0]).get());
    return nullptr;
  }
  if (draft.options.is_about()) {
    PyErr_SetString(PyExc_ValueError,
                    "send_threadsafe() is about no message, because the agent's own thread may end "
                    "it at any moment: give cause and trace");
    return nullptr;
  }
  const beeline_peer peer = reinterpret_cast<Peer*>(values[0])->peer;
  beeline_sender* sender = agent.sender();
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  {
    const Released released;
    code = beeline_sender_send(sender, peer, draft.payload.data(), draft.payload.size(), timeout_ns,
                               draft.options.get(), &id);
  }
  return id_or_raise(agent, code, id);
}

constexpr auto kFireAndForget = signature("fire_and_forget", kToAndPayload, 2, kSendOptions);

PyObject* fire_and_forget(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kFireAndForget.names.size()> values;
  Draft draft;
  if (!values.read(agent.state(), kFireAndForget, call) || !draft.read(values[1], values.from(2)) ||
      !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code = copying(draft.payload.size(), [&] {
    return beeline_fire_and_forget(agent.handle(), draft.peer, draft.payload.data(),
                                   draft.payload.size(), draft.options.get(), &id);
  });
  return id_or_raise(agent, code, id);
}

constexpr auto kControl =
    signature("control", std::array{Name::kTo, Name::kOrder, Name::kPayload}, 2, kSendOptions);

PyObject* control(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kControl.names.size()> values;
  Draft draft;
  const char* order = "";
  std::size_t length = 0;
  if (!values.read(agent.state(), kControl, call) ||
      !read_text(values[1], "order", &order, &length) || !draft.read(values[2], values.from(3)) ||
      !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code =
      beeline_send_control(agent.handle(), draft.peer, order, length, draft.payload.data(),
                           draft.payload.size(), draft.options.get(), &id);
  return id_or_raise(agent, code, id);
}

constexpr auto kEscalate = signature("escalate", std::array{Name::kIssue}, 1, kSendOptions);

PyObject* escalate(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kEscalate.names.size()> values;
  Draft draft;
  if (!values.read(agent.state(), kEscalate, call) || !draft.read(values[0], values.from(1)) ||
      !draft.enter(agent, nullptr)) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  {
    // The link to the parent may be a new one.
    const Released released;
    code = beeline_escalate(agent.handle(), draft.payload.data(), draft.payload.size(),
                            draft.options.get(), &id);
  }
  return id_or_raise(agent, code, id);
}

PyObject* cancel(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  beeline_id id = 0;
  beeline_peer peer{};
  if (!values.read(agent.state(), signature("cancel", std::array{Name::kTo, Name::kId}), call) ||
      !read_id(values[1], "id", &id) || !agent.enter() || !agent.resolve(values[0], &peer)) {
    return nullptr;
  }
  const beeline_code code = beeline_cancel(agent.handle(), peer, id);
  return code == BEELINE_OK ? Py_NewRef(Py_None) : raise(agent.state(), code);
}

PyObject* borrow(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  std::size_t size = 0;
  beeline_peer peer{};
  if (!values.read(agent.state(), signature("borrow", std::array{Name::kTo, Name::kSize}), call) ||
      !read_number(values[1], "size", &size, 0, PY_SSIZE_T_MAX) || !agent.enter() ||
      !agent.resolve(values[0], &peer)) {
    return nullptr;
  }
  beeline_loan* loan = nullptr;
  const beeline_code code =
      copying(size, [&] { return beeline_borrow(agent.handle(), peer, size, 0, &loan); });
  return code == BEELINE_OK ? make_loan(self, peer, loan) : raise(agent.state(), code);
}

PyObject* wait_borrow(Agent& self, const Call& call) {
  constexpr auto kWaitBorrow =
      signature("_wait_borrow", std::array{Name::kTimeoutNs, Name::kTo, Name::kSize});
  Attachment& agent = self.attachment();
  Values<3> values;
  std::int64_t timeout_ns = 0;
  std::size_t size = 0;
  beeline_peer peer{};
  if (!values.read(agent.state(), kWaitBorrow, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !read_number(values[2], "size", &size, 0, PY_SSIZE_T_MAX) || !agent.enter() ||
      !agent.resolve(values[1], &peer)) {
    return nullptr;
  }
  beeline_loan* loan = nullptr;
  beeline_code code = BEELINE_OK;
  const auto lend = [&](std::int64_t ns) {
    code = beeline_borrow(agent.handle(), peer, size, ns, &loan);
  };
  if (!wait_for_room(agent, agent.with_slot(peer), timeout_ns, size, code, lend)) return nullptr;
  return code == BEELINE_OK ? make_loan(self, peer, loan) : raise(agent.state(), code);
}

constexpr auto kBroadcastNowait = signature(
    "broadcast_nowait", std::array{Name::kGroup, Name::kRole, Name::kPayload}, 3, kSendOptions);

// (pid, name, id, text, error)
PyObject* delivery_tuple(State& state, const beeline_delivery& delivery) {
  Ref error = Ref::to(Py_None);
  Ref id(state.message_id(delivery.id));
  if (delivery.code != BEELINE_OK) {
    error = Ref(exception_with(state, delivery.code, delivery.text));
  }
  if (!id || !error) return nullptr;
  return Py_BuildValue("(IsOsO)", delivery.pid, delivery.name, id.get(), delivery.text,
                       error.get());
}

PyObject* broadcast_nowait(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kBroadcastNowait.names.size()> values;
  Draft draft;
  std::int32_t group = 0;
  const char* role = nullptr;
  if (!values.read(agent.state(), kBroadcastNowait, call) ||
      !read_number(values[0], "group", &group, BEELINE_GROUP_ALL, BEELINE_GROUP_ROLE) ||
      !read_text(values[1], "role", &role, nullptr) || !draft.read(values[2], values.from(3)) ||
      !draft.enter(agent, nullptr)) {
    return nullptr;
  }
  beeline_deliveries* deliveries = nullptr;
  beeline_code code = BEELINE_OK;
  {
    // Links to new agents of the group are opened on the way.
    const Released released;
    code =
        beeline_broadcast(agent.handle(), group, role == nullptr ? "" : role, draft.payload.data(),
                          draft.payload.size(), draft.options.get(), &deliveries);
  }
  if (code != BEELINE_OK) return raise(agent.state(), code);
  const Listing<beeline_deliveries, beeline_deliveries_free> listing(deliveries);
  return listing.list(
      [&](const beeline_delivery& delivery) { return delivery_tuple(agent.state(), delivery); });
}

}  // namespace

PyMethodDef* send_methods() {
  static PyMethodDef methods[] = {
      method<Agent, send_nowait>("send_nowait", "Sends now or raises. Returns the MessageId."),
      method<Agent, send>("_send", kSendDoc),
      method<Agent, send_threadsafe>("send_threadsafe", "Sends from any thread."),
      method<Agent, fire_and_forget>("fire_and_forget", "next_result() will have the answer."),
      method<Agent, control>("control", "Sends an order."),
      method<Agent, escalate>("escalate", "Sends to the parent."),
      method<Agent, cancel>("cancel", "Takes a message back."),
      method<Agent, borrow>("borrow", "A Loan: memory in the link."),
      method<Agent, wait_borrow>("_wait_borrow", "A Loan, after a wait for room."),
      method<Agent, broadcast_nowait>("broadcast_nowait", "Sends to each agent of a group."),
      {}};
  return methods;
}

}  // namespace beeline::python
