#pragma once
// The values of arguments as numbers and texts. Each function leaves its result alone where the
// argument is null, and returns false where an exception is set.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"

namespace beeline::python {

// The name of the type of an object, for the words of an error.
[[nodiscard]] Ref type_name(PyObject* object);

[[nodiscard]] bool read_number(PyObject* from, const char* name, std::int64_t least,
                               std::int64_t most, std::int64_t* into);
template <typename Number>
[[nodiscard]] bool read_number(PyObject* from, const char* name, Number* into,
                               std::int64_t least = 0,
                               std::int64_t most = std::numeric_limits<Number>::max()) {
  std::int64_t number = 0;
  if (from == nullptr) return true;
  if (!read_number(from, name, least, most, &number)) return false;
  *into = static_cast<Number>(number);
  return true;
}
// An id, or another number that takes 64 bits.
[[nodiscard]] bool read_id(PyObject* from, const char* name, std::uint64_t* into);
[[nodiscard]] bool read_flag(PyObject* from, bool* into);
[[nodiscard]] bool read_float(PyObject* from, const char* name, double* into);
// Seconds as nanoseconds, at least 0.
[[nodiscard]] bool read_seconds(PyObject* from, const char* name, std::int64_t* into_ns);
// A longest wait in seconds as nanoseconds: None leaves the result alone, and a time below 0, as
// of a deadline that is over, is 0.
[[nodiscard]] bool read_timeout(PyObject* from, std::int64_t* into_ns);
// A str as UTF-8 without a zero byte in it; None leaves the result alone.
[[nodiscard]] bool read_text(PyObject* from, const char* name, const char** into,
                             std::size_t* length);

}  // namespace beeline::python
