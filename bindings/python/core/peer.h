#pragma once
// The Python class Peer.

#include <beeline/c.h>

#include "bindings/python/core/python.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

struct Peer {
  PyObject_HEAD beeline_peer peer;
};

// Null: an exception is set.
[[nodiscard]] PyObject* make_peer(State& state, beeline_peer peer);
[[nodiscard]] bool add_peer_type(State& state, PyObject* module);

}  // namespace beeline::python
