// The methods of class Agent for acknowledgements.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/draft.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

using Turn = Wait::Turn;

constexpr auto kAckStart = signature(
    "ack_start", std::array{Name::kTo, Name::kPayload, Name::kTimeoutNs}, 3, kSendOptions);

PyObject* ack_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kAckStart.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kAckStart, call) ||
      !read_number(values[2], "timeout_ns", &timeout_ns) ||
      !draft.read(values[1], values.from(3)) || !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code = copying(draft.payload.size(), [&] {
    return beeline_send_acked_start(agent.handle(), draft.peer, draft.payload.data(),
                                    draft.payload.size(), timeout_ns, draft.options.get(), &id);
  });
  return id_or_raise(agent, code, id);
}

// (id, status, reply, is_cut)
PyObject* ack_tuple(Attachment& agent, const beeline_ack& ack) {
  const Ref id(agent.state().message_id(ack.id));
  const Ref reply(PyBytes_FromStringAndSize(ack.reply, static_cast<Py_ssize_t>(ack.reply_length)));
  if (!id || !reply) return nullptr;
  return Py_BuildValue("(OiOO)", id.get(), static_cast<int>(ack.status), reply.get(),
                       ack.is_cut ? Py_True : Py_False);
}

PyObject* next_ack(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_ack", call) || !agent.enter()) return nullptr;
  beeline_ack ack{};
  const beeline_code code = beeline_next_ack(agent.handle(), &ack);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  if (ack.code == BEELINE_OK) return ack_tuple(agent, ack);
  const Ref error(exception_of(agent.state(), ack.code));
  const Ref id(agent.state().message_id(ack.id));
  return id && error ? PyTuple_Pack(2, id.get(), error.get()) : nullptr;
}

// The tuple; None where the time was over; or an exception is set.
PyObject* ack_or_none(Attachment& agent, beeline_code code, const beeline_ack& ack) {
  if (code == BEELINE_OK) return ack_tuple(agent, ack);
  if (code == BEELINE_TIMEOUT || code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  return raise(agent.state(), code);
}

PyObject* take_ack(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<2> values;
  beeline_id id = 0;
  beeline_peer peer{};
  if (!values.read(agent.state(), signature("take_ack", std::array{Name::kTo, Name::kId}), call) ||
      !read_id(values[1], "id", &id) || !agent.enter() || !agent.resolve(values[0], &peer)) {
    return nullptr;
  }
  beeline_ack ack{};
  const beeline_code code = beeline_await_ack(agent.handle(), peer, id, 0, &ack);
  return ack_or_none(agent, code, ack);
}

PyObject* wait_ack(Agent& self, const Call& call) {
  constexpr auto kWaitAck =
      signature("_wait_ack", std::array{Name::kTimeoutNs, Name::kTo, Name::kId});
  Attachment& agent = self.attachment();
  Values<3> values;
  std::int64_t timeout_ns = 0;
  beeline_id id = 0;
  beeline_peer peer{};
  if (!values.read(agent.state(), kWaitAck, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) || !read_id(values[2], "id", &id) ||
      !agent.enter() || !agent.resolve(values[1], &peer)) {
    return nullptr;
  }
  beeline_ack ack{};
  beeline_code code = BEELINE_TIMEOUT;
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_await_ack(agent.handle(), peer, id, ns, &ack);
    return code == BEELINE_TIMEOUT || code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  if (!Wait(agent, timeout_ns).run_in_slices(attempt)) return nullptr;
  return ack_or_none(agent, code, ack);
}

constexpr auto kWaitSendAcked = signature(
    "_wait_send_acked", std::array{Name::kTimeoutNs, Name::kTo, Name::kPayload}, 3, kSendOptions);

PyObject* wait_send_acked(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kWaitSendAcked.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kWaitSendAcked, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !draft.read(values[2], values.from(3)) || !draft.enter(agent, values[1])) {
    return nullptr;
  }
  draft.options.require_ack();
  Wait whole(agent, timeout_ns);
  beeline_ack ack{};
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  const auto send = [&](std::int64_t ns) { code = draft.send(agent, ns, &id); };
  if (!wait_for_room(agent, agent.with_slot(draft.peer), timeout_ns, draft.payload.size(), code,
                     send)) {
    return nullptr;
  }
  if (code != BEELINE_OK) return raise(agent.state(), code);
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_await_ack(agent.handle(), draft.peer, id, ns, &ack);
    return code == BEELINE_TIMEOUT ? Turn::kAgain : Turn::kDone;
  };
  if (!whole.run_in_slices(attempt)) return nullptr;
  return code == BEELINE_OK ? ack_tuple(agent, ack) : raise(agent.state(), code);
}

}  // namespace

PyMethodDef* ack_methods() {
  static PyMethodDef methods[] = {
      method<Agent, ack_start>("ack_start", "Sends; next_ack() has the acknowledgement."),
      method<Agent, next_ack>("next_ack", "(id, status, reply, is_cut), (id, error) or None."),
      method<Agent, take_ack>("take_ack", "(id, status, reply, is_cut) if it has come."),
      method<Agent, wait_ack>("_wait_ack", "The same after a wait."),
      method<Agent, wait_send_acked>("_wait_send_acked", "Sends and waits for the word."),
      {}};
  return methods;
}

}  // namespace beeline::python
