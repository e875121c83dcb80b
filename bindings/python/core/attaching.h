#pragma once
// The Python class Attaching, and attach().

#include "bindings/python/core/method.h"
#include "bindings/python/core/python.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

[[nodiscard]] bool add_attaching_type(State& state, PyObject* module);
// attach(agent_type, message_type, loan_type, run_type, **options)
[[nodiscard]] PyObject* attach(State& state, const Call& call);

}  // namespace beeline::python
