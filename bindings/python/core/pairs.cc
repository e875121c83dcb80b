#include "bindings/python/core/pairs.h"

#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

// The str as bytes; a str of str_of() goes back to its bytes.
bool read_part(PyObject* from, const char* name, std::vector<Ref>& parts, beeline_bytes* into) {
  if (!PyUnicode_Check(from)) {
    PyErr_Format(PyExc_TypeError, "%s is a mapping of str to str, and has %S in it", name,
                 type_name(from).get());
    return false;
  }
  Ref encoded(PyUnicode_AsEncodedString(from, "utf-8", "surrogateescape"));
  if (!encoded) return false;
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (PyBytes_AsStringAndSize(encoded.get(), &data, &length) != 0) return false;
  *into = {data, static_cast<std::size_t>(length)};
  parts.push_back(std::move(encoded));
  return true;
}

}  // namespace

bool Pairs::read(PyObject* mapping, const char* name) {
  if (mapping == nullptr || Py_IsNone(mapping)) return true;
  if (PyMapping_Check(mapping) == 0 || PySequence_Check(mapping) != 0) {
    PyErr_Format(PyExc_TypeError, "%s is a mapping of str to str, not %S", name,
                 type_name(mapping).get());
    return false;
  }
  items_ = Ref(PyMapping_Items(mapping));
  if (!items_) return false;
  const Py_ssize_t count = PyList_Size(items_.get());
  pairs_.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t at = 0; at < count; ++at) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    PyObject* item = PyList_GetItem(items_.get(), at);
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 2) {
      PyErr_Format(PyExc_TypeError, "%s is a mapping whose items are pairs", name);
      return false;
    }
    key = PyTuple_GetItem(item, 0);
    value = PyTuple_GetItem(item, 1);
    beeline_pair pair{};
    if (!read_part(key, name, parts_, &pair.key) || !read_part(value, name, parts_, &pair.value)) {
      return false;
    }
    pairs_.push_back(pair);
  }
  return true;
}

PyObject* str_of(beeline_bytes bytes) {
  return PyUnicode_DecodeUTF8(bytes.length == 0 ? "" : static_cast<const char*>(bytes.data),
                              static_cast<Py_ssize_t>(bytes.length), "surrogateescape");
}

PyObject* bytes_of(beeline_bytes bytes) {
  return PyBytes_FromStringAndSize(static_cast<const char*>(bytes.data),
                                   static_cast<Py_ssize_t>(bytes.length));
}

PyObject* dict_of(const beeline_pair* pairs, std::size_t count) {
  Ref dict(PyDict_New());
  for (std::size_t at = 0; dict && at < count; ++at) {
    const Ref key(str_of(pairs[at].key));
    const Ref value(str_of(pairs[at].value));
    if (!key || !value || PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return nullptr;
  }
  return dict.release();
}

}  // namespace beeline::python
