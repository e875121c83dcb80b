#include "bindings/python/core/peer.h"

#include "bindings/python/core/method.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "A peer whose link is open; valid for the agent that gave it.";

Peer& peer_of(PyObject* self) { return *reinterpret_cast<Peer*>(self); }

PyObject* pid(Peer& self) { return PyLong_FromUnsignedLong(self.peer.pid); }

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<beeline.Peer %u>", peer_of(self).peer.pid);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (Py_TYPE(self) != Py_TYPE(other) || (operation != Py_EQ && operation != Py_NE)) {
    return Py_NewRef(Py_NotImplemented);
  }
  const beeline_peer& one = peer_of(self).peer;
  const beeline_peer& two = peer_of(other).peer;
  const bool is_same = one.pid == two.pid && one.slot == two.slot;
  return PyBool_FromLong(is_same == (operation == Py_EQ));
}

Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(peer_of(self).peer.pid); }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

}  // namespace

PyObject* make_peer(State& state, beeline_peer peer) {
  PyObject* made = State::allocate(state.type(Kind::kPeer));
  if (made != nullptr) peer_of(made).peer = peer;
  return made;
}

bool add_peer_type(State& state, PyObject* module) {
  static PyGetSetDef getters[] = {getter<Peer, pid>("pid", "Its number in the hive."), {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         slot(Py_tp_repr, &repr),
                         slot(Py_tp_richcompare, &compare),
                         slot(Py_tp_hash, &hash),
                         {Py_tp_getset, getters},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Peer", sizeof(Peer), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return add_type(state, module, Kind::kPeer, "Peer", spec);
}

}  // namespace beeline::python
