#include "bindings/python/core/task_run.h"

#include "bindings/python/core/method.h"
#include "bindings/python/core/pairs.h"
#include "bindings/python/core/payload.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "A task in the hands of the child.";

constexpr double kMsPerSecond = 1e3;
constexpr const char* kEnded =
    "this task has ended: finish() and fail() end it once, and so does the end of its agent";

TaskRun& run_of(PyObject* self) { return *reinterpret_cast<TaskRun*>(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  Py_VISIT(reinterpret_cast<PyObject*>(run_of(self).agent));
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  TaskRun& run = run_of(self);
  if (run.agent != nullptr) {
    run.attachment().free<beeline_task_free>(run.handle);
    Py_DECREF(reinterpret_cast<PyObject*>(run.agent));
  }
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// ---- The work ----

using Convert = PyObject* (*)(const beeline_work&);

// A part of the work is there until the agent is closed, after the end of the task, too.
template <Convert Part>
PyObject* part(TaskRun& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter()) return nullptr;
  const beeline_work* work = beeline_task_work(self.handle);
  return work == nullptr ? raise_with(owner.state(), BEELINE_CLOSED, kEnded) : Part(*work);
}

PyObject* id(const beeline_work& work) { return str_of(work.id); }
PyObject* description(const beeline_work& work) { return str_of(work.description); }
PyObject* context(const beeline_work& work) { return bytes_of(work.context); }
PyObject* parent_task(const beeline_work& work) { return str_of(work.parent_task); }
PyObject* params(const beeline_work& work) { return dict_of(work.params, work.param_count); }
PyObject* priority(const beeline_work& work) { return PyLong_FromLong(work.priority); }

PyObject* timeout(const beeline_work& work) {
  return PyFloat_FromDouble(static_cast<double>(work.timeout_ms) / kMsPerSecond);
}

// ---- Facts ----

PyObject* agent(TaskRun& self) { return Py_NewRef(reinterpret_cast<PyObject*>(self.agent)); }
PyObject* parent(TaskRun& self) { return PyLong_FromUnsignedLong(self.parent); }

PyObject* message_id(TaskRun& self) {
  return self.attachment().state().message_id(self.message_id);
}

PyObject* held(TaskRun& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter_closed()) return nullptr;
  return PyBool_FromLong(!owner.is_closed() && !self.has_ended &&
                         beeline_task_id(self.handle) != 0);
}

PyObject* cancelled(TaskRun& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter_closed()) return nullptr;
  return PyBool_FromLong(owner.is_closed() || self.has_ended ||
                         beeline_task_is_cancelled(self.handle));
}

// ---- Methods ----

PyObject* report(TaskRun& self, const Signature<1>& signature, const Call& call,
                 std::int32_t kind) {
  State& state = self.attachment().state();
  Values<1> values;
  Payload text;
  if (!values.read(state, signature, call) || !text.read(values[0], "a report") || !self.enter()) {
    return nullptr;
  }
  beeline_code code = BEELINE_OK;
  {
    // The first report opens the link.
    const Released released;
    code = beeline_task_report(self.handle, kind, text.text(), text.size());
  }
  // A report for which there is no room is lost; the result says everything.
  return code == BEELINE_OK || code == BEELINE_FULL ? Py_NewRef(Py_None) : raise(state, code);
}

PyObject* update(TaskRun& self, const Call& call) {
  return report(self, signature("update", std::array{Name::kText}), call, BEELINE_EVENT_UPDATE);
}

PyObject* log(TaskRun& self, const Call& call) {
  return report(self, signature("log", std::array{Name::kText}), call, BEELINE_EVENT_LOG);
}

PyObject* ended(TaskRun& self, beeline_code code) {
  if (code != BEELINE_OK) return raise(self.attachment().state(), code);
  self.has_ended = true;
  return Py_NewRef(Py_None);
}

constexpr auto kFinish = signature(
    "finish", std::array{Name::kExitCode, Name::kOutput, Name::kArtifacts, Name::kMetadata}, 0);

PyObject* finish(TaskRun& self, const Call& call) {
  Values<4> values;
  Payload output;
  Pairs artifacts;
  Pairs metadata;
  beeline_outcome outcome;
  beeline_outcome_init(&outcome);
  if (!values.read(self.attachment().state(), kFinish, call) ||
      !read_number(values[0], "exit_code", &outcome.exit_code, INT32_MIN) ||
      !output.read(values[1], "an output") || !artifacts.read(values[2], "artifacts") ||
      !metadata.read(values[3], "metadata") || !self.enter()) {
    return nullptr;
  }
  outcome.output = {output.data(), output.size()};
  outcome.artifacts = artifacts.data();
  outcome.artifact_count = artifacts.size();
  outcome.metadata = metadata.data();
  outcome.metadata_count = metadata.size();
  return ended(self, beeline_task_finish(self.handle, &outcome));
}

PyObject* fail(TaskRun& self, const Call& call) {
  Values<1> values;
  Payload text;
  if (!values.read(self.attachment().state(), signature("fail", std::array{Name::kText}), call) ||
      !text.read(values[0], "a text") || !self.enter()) {
    return nullptr;
  }
  return ended(self, beeline_task_fail(self.handle, text.text(), text.size()));
}

}  // namespace

bool TaskRun::enter() {
  Attachment& owner = attachment();
  if (!owner.enter()) return false;
  if (!has_ended) return true;
  raise_with(owner.state(), BEELINE_CLOSED, kEnded);
  return false;
}

PyObject* make_task_run(Agent& agent, beeline_task* handle) {
  PyObject* made = State::allocate(agent.attachment().types().task_run);
  if (made == nullptr) {
    beeline_task_free(handle);
    return nullptr;
  }
  TaskRun& run = run_of(made);
  run.agent = &agent;
  Py_INCREF(reinterpret_cast<PyObject*>(&agent));
  run.handle = handle;
  run.message_id = beeline_task_id(handle);
  run.parent = beeline_task_from(handle);
  return made;
}

bool add_task_run_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<TaskRun, update>("update", "Reports a step to the parent."),
      method<TaskRun, log>("log", "Reports a line of a log to the parent."),
      method<TaskRun, finish>("finish", "Ends it with a result."),
      method<TaskRun, fail>("fail", "Ends it without a result."),
      {}};
  static PyGetSetDef getters[] = {
      getter<TaskRun, agent>("agent", "The agent that runs it."),
      getter<TaskRun, held>("held", "False once it has ended."),
      getter<TaskRun, message_id>("message_id", "The message that carried it."),
      getter<TaskRun, parent>("parent", "Pid of the agent that gave it."),
      getter<TaskRun, part<id>>("id", "The id that the parent gave it."),
      getter<TaskRun, part<description>>("description", "The work, in words."),
      getter<TaskRun, part<params>>("params", "Keys and values."),
      getter<TaskRun, part<context>>("context", "Bytes that go with it."),
      getter<TaskRun, part<parent_task>>("parent_task", "The task that this one is a part of."),
      getter<TaskRun, part<timeout>>("timeout", "Seconds that the parent waits for it."),
      getter<TaskRun, part<priority>>("priority", "A rank."),
      getter<TaskRun, cancelled>("cancelled", "Nobody waits for the result."),
      {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_traverse, &traverse),
                         {Py_tp_getset, getters},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.TaskRun", sizeof(TaskRun), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return add_type(state, module, Kind::kTaskRun, "TaskRun", spec);
}

}  // namespace beeline::python
