#include "bindings/python/core/readiness.h"

namespace beeline::python {

bool is_any(Attachment& agent, const beeline_readiness& found) {
  return found.messages + found.tasks + found.answers + found.acks + found.events + found.spaces +
                 found.peers + found.lists + agent.kept_answers().size() !=
             0 ||
         found.notices || found.ended;
}

PyObject* make_readiness(Attachment& agent, const beeline_readiness& found) {
  PyTypeObject* type = agent.state().type(Kind::kReadiness);
  if (type == nullptr) return State::allocate(type);
  PyObject* made = PyStructSequence_New(type);
  if (made == nullptr) return nullptr;
  const std::size_t counts[] = {
      found.messages, found.tasks,  found.answers + agent.kept_answers().size(),
      found.acks,     found.events, found.spaces,
      found.peers,    found.lists};
  Py_ssize_t at = 0;
  for (const std::size_t count : counts) {
    PyStructSequence_SetItem(made, at++, PyLong_FromSize_t(count));
  }
  PyStructSequence_SetItem(made, at++, PyBool_FromLong(found.notices));
  PyStructSequence_SetItem(made, at++, PyBool_FromLong(found.ended));
  PyStructSequence_SetItem(made, at++, PyLong_FromLongLong(found.next_ns));
  if (PyErr_Occurred() != nullptr) Py_CLEAR(made);
  return made;
}

bool add_readiness_type(State& state, PyObject* module) {
  PyStructSequence_Field fields[] = {
      {"messages", "wait for try_receive()"},
      {"tasks", "wait for next_task()"},
      {"answers", "wait for next_answer()"},
      {"acks", "wait for next_ack()"},
      {"events", "wait for next_task_event()"},
      {"spaces", "wait for next_space()"},
      {"peers", "wait for next_peer()"},
      {"lists", "wait for next_list()"},
      {"notices", "next_notice() has one"},
      {"ended", "the hive went down, or this life of the agent has ended"},
      {"next_ns", "call poll() again within this time"},
      {nullptr, nullptr}};
  PyStructSequence_Desc description{"beeline._core.Readiness",
                                    "The report of Agent.poll(). Nothing of it was taken.", fields,
                                    static_cast<int>(std::size(fields)) - 1};
  Ref type(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&description)));
  if (!type || PyModule_AddObjectRef(module, "Readiness", type.get()) != 0) return false;
  state.set_type(Kind::kReadiness, std::move(type));
  return true;
}

}  // namespace beeline::python
