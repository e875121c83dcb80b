#include "bindings/python/core/attaching.h"

#include <poll.h>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/attach_options.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/signals_held.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "attach() in two steps.";

constexpr std::array kTypes = {Name::kAgentType, Name::kMessageType, Name::kLoanType,
                               Name::kRunType};
constexpr auto kAttach = signature("attach", kTypes, 4, kAttachOptions);
constexpr auto kStart = signature("Attaching", std::array<Name, 0>{}, 0, kAttachOptions);
constexpr auto kFinish = signature("finish", kTypes, 4);

// The interpreter makes it all zero.
struct Attaching {
  PyObject_HEAD State* state;
  beeline_attaching* handle;
  bool is_busy;  // a call without the GIL
  unsigned forks;
  Patience patience;
};

Attaching& attaching_of(PyObject* self) { return *reinterpret_cast<Attaching*>(self); }

// A class that was given, as a type derived from one of ours.
bool read_type(const State& state, PyObject* from, Kind kind, const char* name,
               PyTypeObject** into) {
  PyTypeObject* base = state.type(kind);
  if (base != nullptr && PyType_Check(from)) {
    *into = reinterpret_cast<PyTypeObject*>(from);
    if (*into == base || PyType_IsSubtype(*into, base) != 0) return true;
  }
  PyErr_Format(PyExc_TypeError, "%s is a class derived from that of beeline._core, not %R", name,
               from);
  return false;
}

bool read_types(const State& state, std::span<PyObject* const> given, AgentTypes* into) {
  return read_type(state, given[0], Kind::kAgent, "agent_type", &into->agent) &&
         read_type(state, given[1], Kind::kMessage, "message_type", &into->message) &&
         read_type(state, given[2], Kind::kLoan, "loan_type", &into->loan) &&
         read_type(state, given[3], Kind::kTaskRun, "run_type", &into->task_run);
}

beeline_code start(const AttachOptions& options, beeline_attaching** handle) {
  // It may start a coordinator.
  const Released released;
  return beeline_attach_start(&options.options, handle);
}

PyObject* finish(State& state, beeline_attaching* handle, const AgentTypes& types,
                 Patience patience) {
  beeline_agent* agent = nullptr;
  beeline_code code = BEELINE_OK;
  {
    const Released released;
    code = beeline_attach_finish(handle, &agent);
  }
  return code == BEELINE_OK ? make_agent(state, types, agent, patience) : raise(state, code);
}

// False: an exception is set.
bool wait_until_readable(int descriptor) {
  pollfd readable{descriptor, POLLIN, 0};
  while (::poll(&readable, 1, 0) == 0) {
    const SignalsHeld held;
    if (PyErr_CheckSignals() != 0) return false;
    held.sleep(descriptor, BEELINE_FOREVER);
  }
  return true;
}

// ---- The class ----

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Attaching& attaching = attaching_of(self);
  if (attaching.handle != nullptr && attaching.forks == fork_count() &&
      !attaching.state->is_ending()) {
    const Released released;
    beeline_attaching_free(attaching.handle);
  }
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// The keywords of a class come as a dict.
PyObject* make(PyTypeObject* type, PyObject* places, PyObject* keywords) {
  auto& state = *static_cast<State*>(PyType_GetModuleState(type));
  if (PyTuple_Size(places) != 0) {
    PyErr_SetString(PyExc_TypeError, "Attaching() takes options by name only");
    return nullptr;
  }
  const Ref names(keywords == nullptr ? PyTuple_New(0) : PySequence_Tuple(keywords));
  if (!names) return nullptr;
  std::vector<PyObject*> given;
  for (Py_ssize_t at = 0; at < PyTuple_Size(names.get()); ++at) {
    given.push_back(PyDict_GetItemWithError(keywords, PyTuple_GetItem(names.get(), at)));
    if (given.back() == nullptr) return PyErr_NoMemory();
  }
  Values<kStart.names.size()> values;
  AttachOptions options;
  if (!values.read(state, kStart, {given.data(), 0, names.get()}) ||
      !options.read(values.from(0))) {
    return nullptr;
  }
  Ref made(State::allocate(type));
  if (!made) return nullptr;
  Attaching& attaching = attaching_of(made.get());
  attaching.state = &state;
  attaching.forks = fork_count();
  attaching.patience = options.patience();
  const beeline_code code = start(options, &attaching.handle);
  return code == BEELINE_OK ? made.release() : raise(state, code);
}

PyObject* make_guarded(PyTypeObject* type, PyObject* places, PyObject* keywords) {
  return guarded([&] { return make(type, places, keywords); });
}

bool enter(Attaching& self) {
  if (self.forks != fork_count()) {
    raise_plain(self.state->forked_error(),
                "this process is a fork, and its parent attaches here: attach after the fork");
  } else if (self.is_busy) {
    raise_plain(self.state->wrong_thread(), "another thread is in finish() of this Attaching");
  } else if (self.handle == nullptr) {
    raise_with(*self.state, BEELINE_CLOSED, "finish() was called before: it gives one agent");
  } else {
    return true;
  }
  return false;
}

PyObject* fileno(Attaching& self, const Call& call) {
  if (!no_arguments(*self.state, "fileno", call) || !enter(self)) return nullptr;
  return PyLong_FromLong(beeline_attaching_fd(self.handle));
}

PyObject* finish_method(Attaching& self, const Call& call) {
  Values<kFinish.names.size()> values;
  AgentTypes types;
  if (!values.read(*self.state, kFinish, call) ||
      !read_types(*self.state, values.from(0), &types) || !enter(self)) {
    return nullptr;
  }
  self.is_busy = true;
  PyObject* agent = finish(*self.state, self.handle, types, self.patience);
  self.is_busy = false;
  beeline_attaching_free(std::exchange(self.handle, nullptr));
  return agent;
}

}  // namespace

PyObject* attach(State& state, const Call& call) {
  Values<kAttach.names.size()> values;
  AgentTypes types;
  AttachOptions options;
  if (!values.read(state, kAttach, call) || !read_types(state, values.from(0), &types) ||
      !options.read(values.from(kTypes.size()))) {
    return nullptr;
  }
  beeline_attaching* handle = nullptr;
  const beeline_code code = start(options, &handle);
  if (code != BEELINE_OK) return raise(state, code);
  PyObject* agent = nullptr;
  if (wait_until_readable(beeline_attaching_fd(handle))) {
    agent = finish(state, handle, types, options.patience());
  }
  const Released released;
  beeline_attaching_free(handle);
  return agent;
}

bool add_attaching_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<Attaching, fileno>("fileno", "Readable once finish() does not wait."),
      method<Attaching, finish_method>("finish", "The agent, once."),
      {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_new, &make_guarded),
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Attaching", sizeof(Attaching), 0, Py_TPFLAGS_DEFAULT, slots};
  return add_type(state, module, Kind::kAttaching, "Attaching", spec);
}

}  // namespace beeline::python
