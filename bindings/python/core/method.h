#pragma once
// Functions of C++ as methods, getters and slots of Python types.

#include <exception>

#include "bindings/python/core/arguments.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// Only memory can run out: no other exception of C++ is thrown here.
template <typename Function>
PyObject* guarded(Function function) noexcept {
  try {
    return function();
  } catch (const std::exception&) {
    return PyErr_NoMemory();
  }
}

template <typename Object>
using MethodOf = PyObject* (*)(Object&, const Call&);
template <typename Object>
using GetterOf = PyObject* (*)(Object&);

template <typename Object, MethodOf<Object> Function>
PyObject* call_method(PyObject* self, PyObject* const* arguments, Py_ssize_t places,
                      PyObject* names) {
  return guarded([&] {
    return Function(*reinterpret_cast<Object*>(self), Call{arguments, places, names});
  });
}

template <typename Object, GetterOf<Object> Function>
PyObject* call_getter(PyObject* self, void* /*closure*/) {
  return guarded([&] { return Function(*reinterpret_cast<Object*>(self)); });
}

template <typename Object, MethodOf<Object> Function>
PyMethodDef method(const char* name, const char* doc) {
  // The interpreter calls it with the arguments that the flags say.
  const auto erased = reinterpret_cast<void (*)()>(&call_method<Object, Function>);
  return {name, reinterpret_cast<PyCFunction>(erased), METH_FASTCALL | METH_KEYWORDS, doc};
}

template <typename Object, GetterOf<Object> Function>
PyGetSetDef getter(const char* name, const char* doc) {
  return {name, &call_getter<Object, Function>, nullptr, doc, nullptr};
}

// A slot of a type.
template <typename Function>
PyType_Slot slot(int which, Function* function) {
  return {which, reinterpret_cast<void*>(function)};
}

}  // namespace beeline::python
