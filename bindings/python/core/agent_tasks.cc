// The methods of class Agent for tasks: those of a parent, and those of a child.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/pairs.h"
#include "bindings/python/core/payload.h"
#include "bindings/python/core/task_run.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

using Turn = Wait::Turn;

constexpr std::int64_t kNsPerMs = 1'000'000;

constexpr auto kExecuteStart =
    signature("execute_start", std::array{Name::kTo, Name::kTimeoutNs}, 2,
              std::array{Name::kId, Name::kDescription, Name::kContext, Name::kParentTask,
                         Name::kParams, Name::kTimeout, Name::kPriority});

// The texts in it belong to the arguments.
struct Work {
  Payload id;
  Payload description;
  Payload context;
  Payload parent_task;
  Pairs params;
  beeline_work work;

  [[nodiscard]] bool read(std::span<PyObject* const> given) {
    beeline_work_init(&work);
    std::int64_t timeout_ns = work.timeout_ms * kNsPerMs;
    if (!id.read(given[0], "id") || !description.read(given[1], "description") ||
        !context.read(given[2], "context") || !parent_task.read(given[3], "parent_task") ||
        !params.read(given[4], "params") || !read_seconds(given[5], "timeout", &timeout_ns) ||
        !read_number(given[6], "priority", &work.priority, INT32_MIN)) {
      return false;
    }
    work.id = {id.data(), id.size()};
    work.description = {description.data(), description.size()};
    work.context = {context.data(), context.size()};
    work.parent_task = {parent_task.data(), parent_task.size()};
    work.params = params.data();
    work.param_count = params.size();
    work.timeout_ms = timeout_ns / kNsPerMs;
    return true;
  }
};

PyObject* execute_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kExecuteStart.names.size()> values;
  Work work;
  std::int64_t timeout_ns = 0;
  beeline_peer child{};
  if (!values.read(agent.state(), kExecuteStart, call) ||
      !read_number(values[1], "timeout_ns", &timeout_ns) || !work.read(values.from(2)) ||
      !agent.enter() || !agent.resolve(values[0], &child)) {
    return nullptr;
  }
  beeline_id task = 0;
  const beeline_code code =
      beeline_execute_start(agent.handle(), child, &work.work, timeout_ns, &task);
  return code == BEELINE_OK ? agent.state().message_id(task) : raise(agent.state(), code);
}

PyObject* outcome_dict(const beeline_outcome& outcome) {
  const Ref output(bytes_of(outcome.output));
  const Ref artifacts(dict_of(outcome.artifacts, outcome.artifact_count));
  const Ref metadata(dict_of(outcome.metadata, outcome.metadata_count));
  if (!output || !artifacts || !metadata) return nullptr;
  return Py_BuildValue("{sisOsOsO}", "exit_code", static_cast<int>(outcome.exit_code), "output",
                       output.get(), "artifacts", artifacts.get(), "metadata", metadata.get());
}

// The third part of the tuple of an event.
PyObject* word_of(State& state, const beeline_event* event) {
  std::size_t length = 0;
  const char* text = beeline_event_text(event, &length);
  if (beeline_event_kind(event) != BEELINE_EVENT_END) return str_of({text, length});
  const beeline_code code = beeline_event_code(event);
  const beeline_outcome* outcome = beeline_event_outcome(event);
  if (code == BEELINE_OK && outcome != nullptr) return outcome_dict(*outcome);
  return exception_with(state, code, text == nullptr ? "" : text);
}

// None where there is no event. Frees the event.
PyObject* event_or_none(State& state, beeline_code code, beeline_event* event) {
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  if (code != BEELINE_OK) return raise(state, code);
  const Ref task(state.message_id(beeline_event_task(event)));
  const Ref kind(PyLong_FromLong(beeline_event_kind(event)));
  const Ref word(task && kind ? word_of(state, event) : nullptr);
  beeline_event_free(event);
  return word ? PyTuple_Pack(3, task.get(), kind.get(), word.get()) : nullptr;
}

PyObject* next_task_event(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_task_event", call) || !agent.enter()) return nullptr;
  beeline_event* event = nullptr;
  const beeline_code code = beeline_next_task_event(agent.handle(), 0, &event);
  return event_or_none(agent.state(), code, event);
}

PyObject* wait_task_event(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  std::int64_t timeout_ns = 0;
  constexpr auto kWait = signature("_wait_task_event", std::array{Name::kTimeoutNs});
  if (!values.read(agent.state(), kWait, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) || !agent.enter()) {
    return nullptr;
  }
  beeline_event* event = nullptr;
  beeline_code code = BEELINE_NOTHING;
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_next_task_event(agent.handle(), ns, &event);
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  const auto has_news = [](const beeline_readiness& found) { return found.events > 0; };
  if (!Wait(agent, timeout_ns).run(attempt, has_news)) return nullptr;
  return event_or_none(agent.state(), code, event);
}

PyObject* cancel_task(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_id id = 0;
  if (!values.read(agent.state(), signature("cancel_task", std::array{Name::kId}), call) ||
      !read_id(values[0], "id", &id) || !agent.enter()) {
    return nullptr;
  }
  return PyBool_FromLong(beeline_cancel_task(agent.handle(), id));
}

PyObject* accept_tasks(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  bool wanted = false;
  if (!values.read(agent.state(), signature("accept_tasks", std::array{Name::kWanted}), call) ||
      !read_flag(values[0], &wanted) || !agent.enter()) {
    return nullptr;
  }
  beeline_accept_tasks(agent.handle(), wanted);
  return Py_NewRef(Py_None);
}

PyObject* task_or_none(Agent& self, beeline_code code, beeline_task* task) {
  if (code == BEELINE_OK) return make_task_run(self, task);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  return raise(self.attachment().state(), code);
}

PyObject* next_task(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_task", call) || !agent.enter()) return nullptr;
  beeline_task* task = nullptr;
  const beeline_code code = beeline_next_task(agent.handle(), 0, &task);
  return task_or_none(self, code, task);
}

PyObject* wait_task(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), signature("_wait_task", std::array{Name::kTimeoutNs}), call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) || !agent.enter()) {
    return nullptr;
  }
  beeline_task* task = nullptr;
  beeline_code code = BEELINE_NOTHING;
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_next_task(agent.handle(), ns, &task);
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  const auto has_news = [](const beeline_readiness& found) { return found.tasks > 0; };
  if (!Wait(agent, timeout_ns).run(attempt, has_news)) return nullptr;
  return task_or_none(self, code, task);
}

}  // namespace

PyMethodDef* task_methods() {
  static PyMethodDef methods[] = {
      method<Agent, execute_start>("execute_start", "Gives a task to a child."),
      method<Agent, next_task_event>("next_task_event", "(task, kind, word), or None."),
      method<Agent, wait_task_event>("_wait_task_event", "The same after a wait."),
      method<Agent, cancel_task>("cancel_task", "Takes a task back; its end still comes."),
      method<Agent, accept_tasks>("accept_tasks", "Keeps tasks for next_task()."),
      method<Agent, next_task>("next_task", "The next TaskRun, or None."),
      method<Agent, wait_task>("_wait_task", "The same after a wait."),
      {}};
  return methods;
}

}  // namespace beeline::python
