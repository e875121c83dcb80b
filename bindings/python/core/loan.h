#pragma once
// The Python class Loan.

#include <beeline/c.h>

#include <cstddef>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// The interpreter makes it all zero.
struct Loan {
  PyObject_HEAD Agent* agent;  // counted; the object cannot live without it
  beeline_loan* handle;
  std::size_t views;
  beeline_peer peer;
  bool is_waiting;  // a wait may send it at any moment, so no view begins

  [[nodiscard]] Attachment& attachment() { return agent->attachment(); }
  // Whether this thread may use the loan now. False: an exception is set.
  [[nodiscard]] bool enter();
  // For View.
  [[nodiscard]] bool may_view();
  [[nodiscard]] void* span(std::size_t* length) { return beeline_loan_bytes(handle, length); }
};

// Takes over the handle, also where it fails. Null: an exception is set.
[[nodiscard]] PyObject* make_loan(Agent& agent, beeline_peer peer, beeline_loan* handle);
[[nodiscard]] bool add_loan_type(State& state, PyObject* module);

}  // namespace beeline::python
