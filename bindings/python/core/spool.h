#pragma once
// The Python class Spool, and open_spool().

#include "bindings/python/core/method.h"
#include "bindings/python/core/python.h"
#include "bindings/python/core/spool_owner.h"

namespace beeline::python {

// The interpreter makes it all zero.
struct Spool {
  PyObject_HEAD SpoolOwner* owner;  // there as long as the object
};

[[nodiscard]] bool add_spool_type(State& state, PyObject* module);
// open_spool(**options)
[[nodiscard]] PyObject* open_spool(State& state, const Call& call);

}  // namespace beeline::python
