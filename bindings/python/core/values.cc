#include "bindings/python/core/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace beeline::python {
namespace {

constexpr double kNsPerSecond = 1e9;
// Beyond this a time is endless: 292 years do not fit into 64 bits.
constexpr double kMostSeconds = 9.2e9;

std::int64_t nanoseconds(double seconds) {
  return seconds >= kMostSeconds ? INT64_MAX
                                 : static_cast<std::int64_t>(std::ceil(seconds * kNsPerSecond));
}

bool refuse(PyObject* from, const char* name, const char* wanted) {
  PyErr_Format(PyExc_TypeError, "%s is %s, not %S", name, wanted, type_name(from).get());
  return false;
}

}  // namespace

Ref type_name(PyObject* object) {
  Ref name(PyType_GetName(Py_TYPE(object)));
  if (!name) PyErr_Clear();
  return name ? std::move(name) : Ref(PyUnicode_FromString("object"));
}

bool read_number(PyObject* from, const char* name, std::int64_t least, std::int64_t most,
                 std::int64_t* into) {
  if (PyIndex_Check(from) == 0) return refuse(from, name, "a whole number");
  const Ref number(PyNumber_Index(from));
  if (!number) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred() != nullptr) return false;
  if (overflow != 0 || value < least || value > most) {
    PyErr_Format(PyExc_ValueError, "%s is a number from %lld to %lld, not %R", name,
                 static_cast<long long>(least), static_cast<long long>(most), number.get());
    return false;
  }
  *into = value;
  return true;
}

bool read_id(PyObject* from, const char* name, std::uint64_t* into) {
  if (from == nullptr) return true;
  if (PyIndex_Check(from) == 0) return refuse(from, name, "a whole number");
  const Ref number(PyNumber_Index(from));
  if (!number) return false;
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) return false;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s is a number of 64 bits, not %R", name, number.get());
    return false;
  }
  *into = value;
  return true;
}

bool read_flag(PyObject* from, bool* into) {
  if (from == nullptr) return true;
  const int truth = PyObject_IsTrue(from);
  if (truth < 0) return false;
  *into = truth != 0;
  return true;
}

bool read_float(PyObject* from, const char* name, double* into) {
  if (from == nullptr) return true;
  const double value = PyFloat_AsDouble(from);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
    PyErr_Clear();
    return refuse(from, name, "a number");
  }
  if (std::isnan(value)) {
    PyErr_Format(PyExc_ValueError, "%s is a number, not nan", name);
    return false;
  }
  *into = value;
  return true;
}

bool read_seconds(PyObject* from, const char* name, std::int64_t* into_ns) {
  if (from == nullptr) return true;
  double seconds = 0;
  if (!read_float(from, name, &seconds)) return false;
  if (seconds < 0) {
    PyErr_Format(PyExc_ValueError, "%s is a time in seconds of at least 0, not %R", name, from);
    return false;
  }
  *into_ns = nanoseconds(seconds);
  return true;
}

bool read_timeout(PyObject* from, std::int64_t* into_ns) {
  if (from == nullptr || Py_IsNone(from)) return true;
  double seconds = 0;
  if (!read_float(from, "timeout", &seconds)) return false;
  *into_ns = nanoseconds(std::max(seconds, 0.0));
  return true;
}

bool read_text(PyObject* from, const char* name, const char** into, std::size_t* length) {
  if (from == nullptr || Py_IsNone(from)) return true;
  if (!PyUnicode_Check(from)) return refuse(from, name, "a str");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(from, &size);
  if (text == nullptr) return false;
  if (std::memchr(text, 0, static_cast<std::size_t>(size)) != nullptr) {
    PyErr_Format(PyExc_ValueError, "%s has a zero byte in it: %R", name, from);
    return false;
  }
  *into = text;
  if (length != nullptr) *length = static_cast<std::size_t>(size);
  return true;
}

}  // namespace beeline::python
