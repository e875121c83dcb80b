#pragma once
// The Python class TaskRun.

#include <beeline/c.h>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// The interpreter makes it all zero.
struct TaskRun {
  PyObject_HEAD Agent* agent;  // counted; the object cannot live without it
  beeline_task* handle;
  bool has_ended;
  beeline_id message_id;
  beeline_pid parent;

  [[nodiscard]] Attachment& attachment() { return agent->attachment(); }
  // Whether this thread may use the task now. False: an exception is set.
  [[nodiscard]] bool enter();
};

// Takes over the handle, also where it fails. Null: an exception is set.
[[nodiscard]] PyObject* make_task_run(Agent& agent, beeline_task* handle);
[[nodiscard]] bool add_task_run_type(State& state, PyObject* module);

}  // namespace beeline::python
