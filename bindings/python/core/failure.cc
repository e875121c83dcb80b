#include "bindings/python/core/failure.h"

namespace beeline::python {
namespace {

PyObject* make(State& state, beeline_code code, int system, const char* text, std::uint64_t limit) {
  const Ref words(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)), "replace"));
  if (!words) return nullptr;
  PyObject* maker = state.error_maker();
  if (maker == nullptr) return nullptr;
  return PyObject_CallFunction(maker, "iiOK", static_cast<int>(code), system, words.get(),
                               static_cast<unsigned long long>(limit));
}

PyObject* set(PyObject* owned) {
  const Ref error(owned);
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

}  // namespace

PyObject* exception_of(State& state, beeline_code code) {
  return make(state, code, beeline_error_errno(), beeline_error_text(), beeline_error_limit());
}

PyObject* exception_with(State& state, beeline_code code, const char* text) {
  return make(state, code, 0, text, 0);
}

PyObject* raise(State& state, beeline_code code) { return set(exception_of(state, code)); }

PyObject* raise_with(State& state, beeline_code code, const char* text) {
  return set(exception_with(state, code, text));
}

PyObject* raise_plain(PyObject* type, const char* text) {
  if (type != nullptr) PyErr_SetString(type, text);
  return nullptr;
}

PyObject* raise_views(const char* owner, const char* function, std::size_t views) {
  PyErr_Format(PyExc_BufferError,
               "%zu view%s of this %s still live%s: release each (memoryview.release(), or the end "
               "of its `with` block) before %s(), or work on a copy, bytes(view)",
               views, views == 1 ? "" : "s", owner, views == 1 ? "s" : "", function);
  return nullptr;
}

}  // namespace beeline::python
