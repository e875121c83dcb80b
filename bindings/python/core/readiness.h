#pragma once
// The Python class Readiness, a tuple with names.

#include <beeline/c.h>

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// Whether a report says something.
[[nodiscard]] bool is_any(Attachment& agent, const beeline_readiness& found);
// Null: an exception is set.
[[nodiscard]] PyObject* make_readiness(Attachment& agent, const beeline_readiness& found);
[[nodiscard]] bool add_readiness_type(State& state, PyObject* module);

}  // namespace beeline::python
