#pragma once
// A counted reference to a Python object.

#include <utility>

#include "bindings/python/core/python.h"

namespace beeline::python {

// Owns one reference, or none.
class Ref {
 public:
  Ref() = default;
  // Takes over a reference that the caller owns; null is none.
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    Ref old(std::exchange(object_, std::exchange(other.object_, nullptr)));
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  // Counts one more reference to an object that somebody else owns.
  static Ref to(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }

  [[nodiscard]] PyObject* get() const { return object_; }
  // The caller owns the reference now.
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace beeline::python
