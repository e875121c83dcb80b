// The life of an Agent.

#include "bindings/python/core/agent.h"

#include <vector>

#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "The base of the Agents of beeline.aio and beeline.sync.";

Agent& agent_of(PyObject* self) { return *reinterpret_cast<Agent*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  if (agent_of(self).is_attached) {
    const AgentTypes& types = agent_of(self).attachment().types();
    for (PyTypeObject* type : {types.message, types.loan, types.task_run}) {
      Py_VISIT(reinterpret_cast<PyObject*>(type));
    }
  }
  return 0;
}

// An agent that nobody has closed leaves the hive at a time that nobody has chosen.
void warn_of_open(Attachment& agent) {
  if (agent.is_closed() || agent.is_copy() || agent.state().is_ending()) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyErr_ResourceWarning(nullptr, 1, "the agent '%s' was not closed: use `with`, or close it",
                            beeline_agent_name(agent.handle())) != 0) {
    PyErr_WriteUnraisable(nullptr);
  }
  PyErr_Restore(type, value, traceback);
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (agent_of(self).is_attached) {
    Attachment& agent = agent_of(self).attachment();
    warn_of_open(agent);
    agent.~Attachment();
  }
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// ---- Facts ----

// These facts never change, so any thread may ask for them, also after the end.
PyObject* pid(Agent& self) { return PyLong_FromUnsignedLong(self.attachment().pid()); }
PyObject* name(Agent& self) { return Py_NewRef(self.attachment().name()); }

PyObject* incarnation(Agent& self) {
  return PyLong_FromUnsignedLongLong(self.attachment().incarnation());
}

PyObject* parent(Agent& self) {
  Attachment& agent = self.attachment();
  return agent.enter() ? PyLong_FromUnsignedLong(beeline_agent_parent(agent.handle())) : nullptr;
}

// The copy of an agent in a forked child is as good as closed.
PyObject* closed(Agent& self) {
  return PyBool_FromLong(self.attachment().is_closed() || self.attachment().is_copy());
}

// ---- Methods ----

PyObject* fileno(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "fileno", call) || !agent.enter()) return nullptr;
  return PyLong_FromLong(beeline_fd(agent.handle()));
}

PyObject* urgent(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "urgent", call) || !agent.enter()) return nullptr;
  return PyBool_FromLong(beeline_urgent(agent.handle()));
}

PyObject* views(Agent& self, const Call& call) {
  if (!no_arguments(self.attachment().state(), "views", call)) return nullptr;
  return PyLong_FromSize_t(self.attachment().views());
}

PyObject* set_sleeping(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  bool sleeping = false;
  if (!values.read(agent.state(), signature("set_sleeping", std::array{Name::kSleeping}), call) ||
      !read_flag(values[0], &sleeping) || !agent.enter()) {
    return nullptr;
  }
  beeline_set_sleeping(agent.handle(), sleeping);
  return Py_NewRef(Py_None);
}

PyObject* detach_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  std::int64_t drain_ns = 0;
  if (!values.read(agent.state(), signature("detach_start", std::array{Name::kDrainNs}), call) ||
      !read_number(values[0], "drain_ns", &drain_ns) || !agent.enter()) {
    return nullptr;
  }
  beeline_detach_start(agent.handle(), drain_ns);
  return Py_NewRef(Py_None);
}

PyObject* wait_detach(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  std::int64_t drain_ns = 0;
  if (!values.read(agent.state(), signature("_wait_detach", std::array{Name::kDrainNs}), call) ||
      !read_number(values[0], "drain_ns", &drain_ns) || !agent.enter()) {
    return nullptr;
  }
  beeline_detach_start(agent.handle(), drain_ns);
  std::uint64_t left = 0;
  beeline_code code = BEELINE_NOTHING;
  const auto attempt = [&](std::int64_t ns) {
    Wait::poll_until(agent, ns, [](const beeline_readiness& found) { return found.ended; });
    code = beeline_left_behind(agent.handle(), &left);
    return code == BEELINE_NOTHING ? Wait::Turn::kAgain : Wait::Turn::kDone;
  };
  const auto has_news = [](const beeline_readiness& found) { return found.ended; };
  if (!Wait(agent, BEELINE_FOREVER).run(attempt, has_news)) return nullptr;
  return code == BEELINE_OK ? PyLong_FromUnsignedLongLong(left) : raise(agent.state(), code);
}

PyObject* left_behind(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "left_behind", call) || !agent.enter()) return nullptr;
  std::uint64_t left = 0;
  const beeline_code code = beeline_left_behind(agent.handle(), &left);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  return code == BEELINE_OK ? PyLong_FromUnsignedLongLong(left) : raise(agent.state(), code);
}

PyObject* close(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  bool force = false;
  if (!values.read(agent.state(), signature("_close", std::array{Name::kForce}, 0), call) ||
      !read_flag(values[0], &force) || !agent.enter_closed() || !agent.close(force)) {
    return nullptr;
  }
  return Py_NewRef(Py_None);
}

PyMethodDef* own_methods() {
  static PyMethodDef methods[] = {
      // Agent[Message, Loan, TaskRun] is for type checkers.
      {"__class_getitem__", &Py_GenericAlias, METH_O | METH_CLASS, "For type checkers."},
      method<Agent, fileno>("fileno", "Readable when something may have come."),
      method<Agent, urgent>("urgent", "True while a critical message waits."),
      method<Agent, views>("views", "How many views of payloads and loans live."),
      method<Agent, set_sleeping>("set_sleeping", "Says that this agent sleeps."),
      method<Agent, detach_start>("detach_start", "Leaves the hive once everything is taken."),
      method<Agent, wait_detach>("_wait_detach", "Leaves the hive and waits for the end."),
      method<Agent, left_behind>("left_behind", "The messages that nobody took; None: not yet."),
      method<Agent, close>("_close", "Leaves the hive without a wait."),
      {}};
  return methods;
}

PyMethodDef* all_methods() {
  static std::vector<PyMethodDef> all;
  if (all.empty()) {
    for (PyMethodDef* some :
         {own_methods(), receive_methods(), send_methods(), batch_methods(), request_methods(),
          ack_methods(), peer_methods(), hive_methods(), task_methods()}) {
      for (; some->ml_name != nullptr; ++some) all.push_back(*some);
    }
    all.push_back({});
  }
  return all.data();
}

}  // namespace

PyObject* make_agent(State& state, const AgentTypes& types, beeline_agent* handle,
                     Patience patience) {
  PyObject* made = State::allocate(types.agent);
  if (made == nullptr) {
    beeline_close(handle);
    return nullptr;
  }
  Agent& agent = agent_of(made);
  new (agent.room) Attachment(state, handle, types, patience);
  agent.is_attached = true;
  if (!agent.attachment().begin()) Py_CLEAR(made);
  return made;
}

bool add_agent_type(State& state, PyObject* module) {
  static PyGetSetDef getters[] = {
      getter<Agent, pid>("pid", "Its number in the hive."),
      getter<Agent, name>("name", "Its name."),
      getter<Agent, parent>("parent", "Pid of its parent."),
      getter<Agent, incarnation>("incarnation", "Which life under this name it is."),
      getter<Agent, closed>("closed", "True after its end."),
      {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_traverse, &traverse),
                         {Py_tp_getset, getters},
                         {Py_tp_methods, all_methods()},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Agent", sizeof(Agent), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return add_type(state, module, Kind::kAgent, "Agent", spec);
}

}  // namespace beeline::python
