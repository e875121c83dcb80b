#pragma once
// The Python class Agent.

#include <new>

#include "bindings/python/core/arguments.h"
#include "bindings/python/core/attachment.h"
#include "bindings/python/core/method.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

struct Agent {
  PyObject_HEAD bool is_attached;
  alignas(Attachment) unsigned char room[sizeof(Attachment)];

  [[nodiscard]] Attachment& attachment() {
    return *std::launder(reinterpret_cast<Attachment*>(room));
  }
};

// A new object of a class derived from Agent. Takes over the handle, also where it fails. Null: an
// exception is set.
[[nodiscard]] PyObject* make_agent(State& state, const AgentTypes& types, beeline_agent* handle,
                                   Patience patience);
[[nodiscard]] bool add_agent_type(State& state, PyObject* module);

// The methods, by file.
PyMethodDef* receive_methods();
PyMethodDef* send_methods();
PyMethodDef* batch_methods();
PyMethodDef* request_methods();
PyMethodDef* ack_methods();
PyMethodDef* peer_methods();
PyMethodDef* hive_methods();
PyMethodDef* task_methods();

}  // namespace beeline::python
