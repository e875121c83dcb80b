#pragma once
// Agents and inboxes as dicts.

#include <beeline/c.h>

#include "bindings/python/core/python.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

// A list of dicts. Frees `agents`. Null: an exception is set.
[[nodiscard]] PyObject* agent_dicts(beeline_agents* agents);
// The dict of a list of one. Frees `agents`. Null: an exception is set.
[[nodiscard]] PyObject* agent_dict(beeline_agents* agents);
// A list of dicts, one for each message. Null: an exception is set.
[[nodiscard]] PyObject* inbox_dicts(State& state, const beeline_inbox& inbox);

}  // namespace beeline::python
