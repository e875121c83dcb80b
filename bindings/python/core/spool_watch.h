#pragma once
// The Python class SpoolWatch, and open_spool_watch().

#include "bindings/python/core/method.h"
#include "bindings/python/core/python.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

[[nodiscard]] bool add_spool_watch_type(State& state, PyObject* module);
// open_spool_watch(dir)
[[nodiscard]] PyObject* open_spool_watch(State& state, const Call& call);

}  // namespace beeline::python
