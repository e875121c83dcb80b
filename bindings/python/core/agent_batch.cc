// The methods of class Agent for many messages at once.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/draft.h"
#include "bindings/python/core/message.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr auto kSendMany =
    signature("send_many", std::array{Name::kTo, Name::kPayloads}, 2, kSendOptions);

// Sends one payload. 1: sent; 0: there is no room; -1: an exception is set.
int send_one(Attachment& agent, const Draft& draft, PyObject* from) {
  Payload payload;
  // Reading the payload may have run Python code.
  if (!payload.read(from) || !agent.enter()) return -1;
  const beeline_code code = copying(payload.size(), [&] {
    return beeline_send(agent.handle(), draft.peer, payload.data(), payload.size(), 0,
                        draft.options.get(), nullptr);
  });
  if (code == BEELINE_OK) return 1;
  if (code == BEELINE_FULL || code == BEELINE_RATE_LIMITED) return 0;
  raise(agent.state(), code);
  return -1;
}

PyObject* send_many(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kSendMany.names.size()> values;
  Draft draft;
  if (!values.read(agent.state(), kSendMany, call) || !draft.options.read(values.from(2))) {
    return nullptr;
  }
  if (PyUnicode_Check(values[1]) || PyBytes_Check(values[1])) {
    PyErr_SetString(PyExc_TypeError,
                    "payloads is a sequence of payloads: for one payload call send_nowait()");
    return nullptr;
  }
  // A list that the caller has is used as it is.
  const bool is_list = PyList_CheckExact(values[1]);
  const Ref list(is_list ? Py_NewRef(values[1]) : PySequence_List(values[1]));
  if (!list || !draft.enter(agent, values[0])) return nullptr;
  Py_ssize_t sent = 0;
  for (; sent < PyList_Size(list.get()); ++sent) {
    const Ref payload = Ref::to(PyList_GetItem(list.get(), sent));
    const int result = send_one(agent, draft, payload.get());
    if (result == 1) continue;
    // The caller hears of an error when it sends the rest.
    if (result < 0 && (sent == 0 || PyErr_ExceptionMatches(PyExc_Exception) == 0)) return nullptr;
    if (result < 0) PyErr_Clear();
    break;
  }
  return PyLong_FromSsize_t(sent);
}

// Whether a message may end now. False: an exception is set.
bool may_end(Attachment& agent, PyObject* object) {
  if (!agent.state().is(object, Kind::kMessage)) {
    PyErr_Format(PyExc_TypeError, "done_all() takes messages, not %S", type_name(object).get());
    return false;
  }
  auto& message = *reinterpret_cast<Message*>(object);
  if (&message.attachment() != &agent) {
    PyErr_SetString(PyExc_ValueError, "done_all() takes messages of this agent");
    return false;
  }
  return message.may_end("done_all");
}

PyObject* done_all(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  if (!values.read(agent.state(), signature("done_all", std::array{Name::kMessages}), call)) {
    return nullptr;
  }
  const bool is_list = PyList_CheckExact(values[0]);
  const Ref list(is_list ? Py_NewRef(values[0]) : PySequence_List(values[0]));
  if (!list || !agent.enter()) return nullptr;
  // No Python code runs from here on, so the list stays as it is.
  const Py_ssize_t count = PyList_Size(list.get());
  for (Py_ssize_t at = 0; at < count; ++at) {
    if (!may_end(agent, PyList_GetItem(list.get(), at))) return nullptr;
  }
  for (Py_ssize_t at = 0; at < count; ++at) {
    auto& message = *reinterpret_cast<Message*>(PyList_GetItem(list.get(), at));
    // The second place of a message that stands in the list twice does nothing.
    beeline_message_done(message.handle, nullptr, 0);
  }
  return Py_NewRef(Py_None);
}

}  // namespace

PyMethodDef* batch_methods() {
  static PyMethodDef methods[] = {
      method<Agent, send_many>("send_many", "Sends from the front of a list; returns how many."),
      method<Agent, done_all>("done_all", "Ends messages, all of them or none."),
      {}};
  return methods;
}

}  // namespace beeline::python
