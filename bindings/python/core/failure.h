#pragma once
// The exceptions of the Python layer.

#include <beeline/c.h>

#include "bindings/python/core/python.h"
#include "bindings/python/core/state.h"

namespace beeline::python {

// The exception for a call of the library that has just failed in this thread. Null: another
// exception is set.
[[nodiscard]] PyObject* exception_of(State& state, beeline_code code);
// The same with other words.
[[nodiscard]] PyObject* exception_with(State& state, beeline_code code, const char* text);
// Sets it. Returns null, for `return`.
PyObject* raise(State& state, beeline_code code);
PyObject* raise_with(State& state, beeline_code code, const char* text);
// Sets an exception of a class that is made from its text alone. `type` may be null: then an
// exception is set already.
PyObject* raise_plain(PyObject* type, const char* text);

// Sets a BufferError for `views` living views of something, in a call of `function`.
PyObject* raise_views(const char* owner, const char* function, std::size_t views);

}  // namespace beeline::python
