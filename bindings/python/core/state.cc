#include "bindings/python/core/state.h"

#include <pthread.h>

#include <utility>

namespace beeline::python {
namespace {

// The child of a fork has one thread, which writes this before it runs anything else.
unsigned forks = 0;

int visit_ref(const Ref& ref, visitproc visit, void* arg) {
  return ref ? visit(ref.get(), arg) : 0;
}

}  // namespace

unsigned fork_count() { return forks; }

bool add_type(State& state, PyObject* module, Kind kind, const char* name, PyType_Spec& spec) {
  Ref type(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!type || PyModule_AddObjectRef(module, name, type.get()) != 0) return false;
  state.set_type(kind, std::move(type));
  return true;
}

void count_forks() {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
}

State& State::of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

bool State::intern_names() {
  for (std::size_t at = 0; at < kNames; ++at) {
    names_[at] = Ref(PyUnicode_InternFromString(kNameTexts[at]));
    if (!names_[at]) return false;
  }
  return true;
}

bool State::is(PyObject* object, Kind kind) const {
  PyTypeObject* wanted = type(kind);
  if (wanted == nullptr) return false;
  return Py_TYPE(object) == wanted || PyType_IsSubtype(Py_TYPE(object), wanted) != 0;
}

PyObject* State::allocate(PyTypeObject* type) {
  if (type == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "beeline is unloaded: the interpreter ends");
    return nullptr;
  }
  return PyType_GenericAlloc(type, 0);
}

PyObject* State::look_up(Ref& into, const char* module, const char* member) {
  if (!into) {
    const Ref from(PyImport_ImportModule(module));
    if (from) into = Ref(PyObject_GetAttrString(from.get(), member));
  }
  return into.get();
}

PyObject* State::error_maker() { return look_up(error_maker_, "beeline._errors", "make"); }
PyObject* State::wrong_thread() { return look_up(wrong_thread_, "beeline._errors", "WrongThread"); }
PyObject* State::forked_error() { return look_up(forked_error_, "beeline._errors", "ForkedError"); }

PyObject* State::message_id(std::uint64_t id) {
  PyObject* type = look_up(message_id_, "beeline._types", "MessageId");
  if (type == nullptr) return nullptr;
  const Ref number(PyLong_FromUnsignedLongLong(id));
  if (!number) return nullptr;
  return PyObject_CallFunctionObjArgs(type, number.get(), nullptr);
}

bool State::make_current(PyObject* message) {
  PyObject* const set_handling = look_up(set_handling_, "beeline._base", "set_handling");
  // A context must not keep a lease.
  const Ref weak(set_handling == nullptr ? nullptr : PyWeakref_NewRef(message, nullptr));
  if (!weak) return false;
  const Ref token(PyObject_CallFunctionObjArgs(set_handling, weak.get(), nullptr));
  return static_cast<bool>(token);
}

int State::traverse(visitproc visit, void* arg) {
  for (const Ref& type : types_) {
    if (const int stop = visit_ref(type, visit, arg)) return stop;
  }
  for (const Ref* ref :
       {&error_maker_, &wrong_thread_, &forked_error_, &message_id_, &set_handling_}) {
    if (const int stop = visit_ref(*ref, visit, arg)) return stop;
  }
  return 0;
}

void State::clear() {
  is_ending_ = true;
  for (Ref& type : types_) type = Ref();
  for (Ref* ref : {&error_maker_, &wrong_thread_, &forked_error_, &message_id_, &set_handling_}) {
    *ref = Ref();
  }
}

}  // namespace beeline::python
