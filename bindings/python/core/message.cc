// The life of a Message, and its payload.

#include "bindings/python/core/message.h"

#include <cstring>

#include "bindings/python/core/view.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "A lease on a message: memoryview(message) is read-only and counted.";

constexpr const char* kWaiting =
    "the answer to this message waits for room and ends it then: look at the payload before";
constexpr const char* kEnded =
    "this message has ended: done(), requeue(), reject() and the end of its agent each end it. "
    "Read "
    "its payload before, or keep a copy";

Message& message_of(PyObject* self) { return *reinterpret_cast<Message*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  Py_VISIT(reinterpret_cast<PyObject*>(message_of(self).agent));
  return 0;
}

// There is no tp_clear: a message never gives up its agent, and the cycle collector breaks a cycle
// at the attributes of the agent.
void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Message& message = message_of(self);
  if (message.agent != nullptr) {
    message.attachment().free<beeline_message_free>(message.handle);
    Py_DECREF(reinterpret_cast<PyObject*>(message.agent));
  }
  Py_XDECREF(message.sender_name);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

Py_ssize_t length(PyObject* self) {
  Message& message = message_of(self);
  if (!message.enter()) return -1;
  std::size_t bytes = 0;
  (void)beeline_message_payload(message.handle, &bytes);
  return static_cast<Py_ssize_t>(bytes);
}

PyObject* repr(PyObject* self) {
  Message& message = message_of(self);
  if (!message.is_described) {
    return PyUnicode_FromString(message.attachment().is_closed() ? "<beeline.Message, ended>"
                                                                 : "<beeline.Message>");
  }
  char id[BEELINE_ID_TEXT_SIZE];
  beeline_id_text(message.info.id, id);
  return PyUnicode_FromFormat("<beeline.Message %s from %u>", id, message.info.from);
}

// A message without bytes is true.
int truth(PyObject* /*self*/) { return 1; }

}  // namespace

bool Message::enter() {
  Attachment& owner = attachment();
  if (!owner.enter()) return false;
  if (beeline_message_is_held(handle)) return true;
  raise_with(owner.state(), BEELINE_CLOSED, kEnded);
  return false;
}

bool Message::may_view() {
  Attachment& owner = attachment();
  if (!owner.enter_closed()) return false;
  if (!owner.is_closed() && beeline_message_is_held(handle) && !is_waiting) return true;
  // The buffer protocol knows one exception.
  PyErr_SetString(PyExc_BufferError, is_waiting ? kWaiting : kEnded);
  return false;
}

void* Message::span(std::size_t* length) {
  // The view is read-only.
  return const_cast<void*>(beeline_message_payload(handle, length));
}

PyObject* make_message(Agent& agent, beeline_message* handle) {
  PyObject* made = State::allocate(agent.attachment().types().message);
  if (made == nullptr) {
    beeline_message_put_back(handle);
    beeline_message_free(handle);
    return nullptr;
  }
  Message& message = message_of(made);
  message.agent = &agent;
  Py_INCREF(reinterpret_cast<PyObject*>(&agent));
  message.handle = handle;
  return made;
}

bool add_message_type(State& state, PyObject* module) {
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_traverse, &traverse),
                         slot(Py_tp_repr, &repr),
                         slot(Py_mp_length, &length),
                         slot(Py_sq_length, &length),
                         slot(Py_nb_bool, &truth),
                         slot(Py_bf_getbuffer, &View<Message, true>::get),
                         slot(Py_bf_releasebuffer, &View<Message, true>::release),
                         {Py_tp_getset, message_facts()},
                         {Py_tp_methods, message_methods()},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Message", sizeof(Message), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return add_type(state, module, Kind::kMessage, "Message", spec);
}

}  // namespace beeline::python
