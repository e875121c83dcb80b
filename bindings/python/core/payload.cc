#include "bindings/python/core/payload.h"

#include "bindings/python/core/values.h"

namespace beeline::python {

bool Payload::read(PyObject* from, const char* name) {
  if (from == nullptr) return true;
  if (PyBytes_CheckExact(from)) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(from, &data, &size) != 0) return false;
    data_ = data;
    size_ = static_cast<std::size_t>(size);
    return true;
  }
  if (PyUnicode_Check(from)) {
    Py_ssize_t size = 0;
    data_ = PyUnicode_AsUTF8AndSize(from, &size);
    size_ = static_cast<std::size_t>(size);
    return data_ != nullptr;
  }
  if (PyObject_CheckBuffer(from) == 0) {
    PyErr_Format(PyExc_TypeError,
                 "%s is bytes, a str or another buffer of contiguous bytes, not %S", name,
                 type_name(from).get());
    return false;
  }
  if (PyObject_GetBuffer(from, &buffer_, PyBUF_SIMPLE) != 0) {
    // numpy says ValueError.
    if (PyErr_ExceptionMatches(PyExc_BufferError) == 0 &&
        PyErr_ExceptionMatches(PyExc_ValueError) == 0) {
      return false;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_BufferError,
                 "%s is one run of contiguous bytes, and this %S is none: copy it first, for "
                 "example with bytes(...) or numpy.ascontiguousarray(...)",
                 name, type_name(from).get());
    return false;
  }
  has_buffer_ = true;
  data_ = buffer_.buf;
  size_ = static_cast<std::size_t>(buffer_.len);
  return true;
}

}  // namespace beeline::python
