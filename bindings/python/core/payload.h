#pragma once
// The bytes of an argument.

#include <cstddef>

#include "bindings/python/core/python.h"

namespace beeline::python {

// Any object with a contiguous buffer, or a str as UTF-8, read where it lies. The caller keeps the
// object as long as the Payload.
class Payload {
 public:
  Payload() = default;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  ~Payload() {
    if (has_buffer_) PyBuffer_Release(&buffer_);
  }

  // Null is no bytes. `name` is for the words of an error. False: an exception is set.
  [[nodiscard]] bool read(PyObject* from, const char* name = "a payload");

  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // As text, for the arguments of the C interface that are texts.
  [[nodiscard]] const char* text() const { return static_cast<const char*>(data_); }

 private:
  const void* data_ = "";
  std::size_t size_ = 0;
  Py_buffer buffer_{};
  bool has_buffer_ = false;
};

}  // namespace beeline::python
