#pragma once
// The Python class SpoolClaim.

#include <beeline/c/spool.h>

#include "bindings/python/core/python.h"
#include "bindings/python/core/spool.h"

namespace beeline::python {

// The interpreter makes it all zero.
struct SpoolClaim {
  PyObject_HEAD Spool* spool;  // counted; the object cannot live without it
  beeline_claim* handle;
};

// Takes over the handle, also where it fails. Null: an exception is set.
[[nodiscard]] PyObject* make_spool_claim(Spool& spool, beeline_claim* handle);
[[nodiscard]] bool add_spool_claim_type(State& state, PyObject* module);

}  // namespace beeline::python
