#include "bindings/python/core/loan.h"

#include "bindings/python/core/draft.h"
#include "bindings/python/core/peer.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/view.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "Writable memory in a link: memoryview(loan) is writable and counted.";

constexpr const char* kWaiting = "this loan waits for room and is sent then: write it before";
constexpr const char* kEnded =
    "this loan has ended: it was sent or released, or its agent is closed. Borrow another one";

Loan& loan_of(PyObject* self) { return *reinterpret_cast<Loan*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  Py_VISIT(reinterpret_cast<PyObject*>(loan_of(self).agent));
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Loan& loan = loan_of(self);
  if (loan.agent != nullptr) {
    loan.attachment().free<beeline_loan_free>(loan.handle);
    Py_DECREF(reinterpret_cast<PyObject*>(loan.agent));
  }
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

Py_ssize_t length(PyObject* self) {
  Loan& loan = loan_of(self);
  if (!loan.enter()) return -1;
  std::size_t bytes = 0;
  (void)loan.span(&bytes);
  return static_cast<Py_ssize_t>(bytes);
}

int truth(PyObject* /*self*/) { return 1; }

// The step before the memory goes away or changes its size.
bool enter_without_views(Loan& self, const char* function) {
  if (!self.enter()) return false;
  if (self.views > 0) raise_views("loan", function, self.views);
  return self.views == 0;
}

void end(Loan& self) { beeline_loan_free(std::exchange(self.handle, nullptr)); }

PyObject* sent(Loan& self, beeline_code code, beeline_id id) {
  if (code == BEELINE_OK) end(self);
  return id_or_raise(self.attachment(), code, id);
}

constexpr auto kSendNowait = signature("send_nowait", std::array<Name, 0>{}, 0, kSendOptions);

PyObject* send_nowait(Loan& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kSendNowait.names.size()> values;
  SendOptions options;
  if (!values.read(agent.state(), kSendNowait, call) || !options.read(values.from(0)) ||
      !enter_without_views(self, "send_nowait") || !options.bind(agent)) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code = beeline_loan_send(self.handle, 0, options.get(), &id);
  return sent(self, code, id);
}

constexpr auto kWaitSend = signature("_wait_send", std::array{Name::kTimeoutNs}, 1, kSendOptions);

PyObject* wait_send(Loan& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kWaitSend.names.size()> values;
  SendOptions options;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kWaitSend, call) || !options.read(values.from(1)) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !enter_without_views(self, "_wait_send") || !options.bind(agent)) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  const auto send = [&](std::int64_t ns) {
    code = beeline_loan_send(self.handle, ns, options.get(), &id);
  };
  self.is_waiting = true;
  const bool is_good = wait_for_room(agent, agent.with_slot(self.peer), timeout_ns, 0, code, send);
  self.is_waiting = false;
  if (!is_good) return nullptr;
  return sent(self, code, id);
}

PyObject* shrink(Loan& self, const Call& call) {
  State& state = self.attachment().state();
  Values<1> values;
  std::size_t size = 0;
  if (!values.read(state, signature("shrink", std::array{Name::kSize}), call) ||
      !read_number(values[0], "size", &size, 0, PY_SSIZE_T_MAX) ||
      !enter_without_views(self, "shrink")) {
    return nullptr;
  }
  const beeline_code code = beeline_loan_shrink(self.handle, size);
  return code == BEELINE_OK ? Py_NewRef(Py_None) : raise(state, code);
}

PyObject* release(Loan& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "release", call) || !agent.enter_closed()) return nullptr;
  // Twice is allowed, as in a `finally`.
  if (self.handle == nullptr || agent.is_closed()) return Py_NewRef(Py_None);
  if (!enter_without_views(self, "release")) return nullptr;
  end(self);
  return Py_NewRef(Py_None);
}

PyObject* agent(Loan& self) { return Py_NewRef(reinterpret_cast<PyObject*>(self.agent)); }
PyObject* peer(Loan& self) { return make_peer(self.attachment().state(), self.peer); }
PyObject* payload(Loan& self) {
  return PyMemoryView_FromObject(reinterpret_cast<PyObject*>(&self));
}

PyObject* held(Loan& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter_closed()) return nullptr;
  return PyBool_FromLong(!owner.is_closed() && self.handle != nullptr);
}

}  // namespace

bool Loan::enter() {
  Attachment& owner = attachment();
  if (!owner.enter()) return false;
  if (handle != nullptr) return true;
  raise_with(owner.state(), BEELINE_CLOSED, kEnded);
  return false;
}

bool Loan::may_view() {
  Attachment& owner = attachment();
  if (!owner.enter_closed()) return false;
  if (!owner.is_closed() && handle != nullptr && !is_waiting) return true;
  // The buffer protocol knows one exception.
  PyErr_SetString(PyExc_BufferError, is_waiting ? kWaiting : kEnded);
  return false;
}

PyObject* make_loan(Agent& agent, beeline_peer peer, beeline_loan* handle) {
  PyObject* made = State::allocate(agent.attachment().types().loan);
  if (made == nullptr) {
    beeline_loan_free(handle);
    return nullptr;
  }
  Loan& loan = loan_of(made);
  loan.agent = &agent;
  Py_INCREF(reinterpret_cast<PyObject*>(&agent));
  loan.handle = handle;
  loan.peer = peer;
  return made;
}

bool add_loan_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<Loan, send_nowait>("send_nowait", "Sends it now, or raises. Returns the MessageId."),
      method<Loan, wait_send>("_wait_send", "Sends it, and waits for room."),
      method<Loan, shrink>("shrink", "Makes the message shorter than the loan."),
      method<Loan, release>("release", "Gives the memory back."),
      {}};
  static PyGetSetDef getters[] = {getter<Loan, agent>("agent", "The agent that borrowed it."),
                                  getter<Loan, peer>("peer", "The receiver."),
                                  getter<Loan, held>("held", "False once it was sent."),
                                  getter<Loan, payload>("payload", "A writable view."),
                                  {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_traverse, &traverse),
                         slot(Py_mp_length, &length),
                         slot(Py_sq_length, &length),
                         slot(Py_nb_bool, &truth),
                         slot(Py_bf_getbuffer, &View<Loan, false>::get),
                         slot(Py_bf_releasebuffer, &View<Loan, false>::release),
                         {Py_tp_getset, getters},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Loan", sizeof(Loan), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return add_type(state, module, Kind::kLoan, "Loan", spec);
}

}  // namespace beeline::python
