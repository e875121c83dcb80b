#pragma once
// The Python class Message.

#include <beeline/c.h>

#include <cstddef>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// The interpreter makes it all zero.
struct Message {
  PyObject_HEAD Agent* agent;  // counted; the object cannot live without it
  beeline_message* handle;
  std::size_t views;
  bool is_deferred;
  bool is_waiting;  // the wait of a reply may end the lease at any moment, so no view begins
  // The facts, once they are known. The object reads them at the latest when the lease ends, except
  // in done_all() and at the end of its agent.
  bool is_described;
  bool has_via;
  std::int32_t relation;
  beeline_pid via;
  PyObject* sender_name;
  beeline_message_info info;

  [[nodiscard]] Attachment& attachment() { return agent->attachment(); }
  // For View: the payload. False: an exception is set.
  [[nodiscard]] bool may_view();
  [[nodiscard]] void* span(std::size_t* length);
  // Reads the facts if that was not done. False: an exception is set.
  [[nodiscard]] bool describe();
  // Whether this thread may use the lease now. False: an exception is set.
  [[nodiscard]] bool enter();
  // Whether the function may end the lease now: no view may live. False: an exception is set.
  [[nodiscard]] bool may_end(const char* function);
  // The same, and reads the facts, so that they stay readable.
  [[nodiscard]] bool may_end_readable(const char* function);
};

// An object for a message that was handed out. Takes over the handle, and puts the message back
// where it fails. Null: an exception is set.
[[nodiscard]] PyObject* make_message(Agent& agent, beeline_message* handle);
[[nodiscard]] bool add_message_type(State& state, PyObject* module);

// The getters of the facts.
PyGetSetDef* message_facts();
// The methods that end a lease.
PyMethodDef* message_methods();

}  // namespace beeline::python
