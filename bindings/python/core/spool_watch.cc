#include "bindings/python/core/spool_watch.h"

#include <beeline/c/spool.h>

#include <utility>

#include "bindings/python/core/signals_held.h"
#include "bindings/python/core/spool_owner.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "Tells of files that come and go.";

// The interpreter makes it all zero. Its calls do not wait, but for wait(), so the GIL guards it.
struct SpoolWatch {
  PyObject_HEAD State* state;
  beeline_spool_watch* handle;
  unsigned forks;
};

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  beeline_spool_watch_free(reinterpret_cast<SpoolWatch*>(self)->handle);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

bool enter(SpoolWatch& self) {
  if (self.forks != fork_count()) {
    raise_plain(self.state->forked_error(),
                "this process is a fork, and the watch belongs to its parent: open another one");
    return false;
  }
  if (self.handle != nullptr) return true;
  raise_with(*self.state, BEELINE_CLOSED, "this watch is closed: open another one");
  return false;
}

PyObject* fileno(SpoolWatch& self, const Call& call) {
  if (!no_arguments(*self.state, "fileno", call) || !enter(self)) return nullptr;
  return PyLong_FromLong(beeline_spool_watch_fd(self.handle));
}

PyObject* next(SpoolWatch& self, const Call& call) {
  if (!no_arguments(*self.state, "next", call) || !enter(self)) return nullptr;
  beeline_spool_change change;
  if (!beeline_spool_watch_next(self.handle, &change)) return Py_NewRef(Py_None);
  return Py_BuildValue("(siN)", change.id, static_cast<int>(change.folder),
                       PyBool_FromLong(change.came));
}

PyObject* wait(SpoolWatch& self, const Call& call) {
  if (!no_arguments(*self.state, "wait", call)) return nullptr;
  const SignalsHeld held;
  if (PyErr_CheckSignals() != 0 || !enter(self)) return nullptr;
  held.sleep(beeline_spool_watch_fd(self.handle), BEELINE_FOREVER);
  return Py_NewRef(Py_None);
}

PyObject* close(SpoolWatch& self, const Call& call) {
  if (!no_arguments(*self.state, "close", call)) return nullptr;
  beeline_spool_watch_free(std::exchange(self.handle, nullptr));
  return Py_NewRef(Py_None);
}

}  // namespace

PyObject* open_spool_watch(State& state, const Call& call) {
  Values<1> values;
  beeline_spool_options options;
  beeline_spool_options_init(&options);
  if (!values.read(state, signature("open_spool_watch", std::array{Name::kDir}), call) ||
      !read_text(values[0], "dir", &options.dir, nullptr)) {
    return nullptr;
  }
  Ref made(State::allocate(state.type(Kind::kSpoolWatch)));
  if (!made) return nullptr;
  auto& watch = *reinterpret_cast<SpoolWatch*>(made.get());
  watch.state = &state;
  watch.forks = fork_count();
  const beeline_spool_code code = beeline_spool_watch_open(&options, &watch.handle);
  return code == BEELINE_SPOOL_OK ? made.release() : raise_spool(code);
}

bool add_spool_watch_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<SpoolWatch, fileno>("fileno", "Readable when next() has something."),
      method<SpoolWatch, next>("next", "The next change, or None."),
      method<SpoolWatch, wait>("wait", "Sleeps until fileno() is readable, or a second."),
      method<SpoolWatch, close>("close", "Ends it; twice is allowed."),
      {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.SpoolWatch", sizeof(SpoolWatch), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return add_type(state, module, Kind::kSpoolWatch, "SpoolWatch", spec);
}

}  // namespace beeline::python
