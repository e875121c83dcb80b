#pragma once
// Mappings of str to str, as the C interface has them.

#include <beeline/c.h>

#include <vector>

#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"

namespace beeline::python {

// The items of a mapping, read where they lie.
class Pairs {
 public:
  // Null and None are no items. False: an exception is set.
  [[nodiscard]] bool read(PyObject* mapping, const char* name);

  [[nodiscard]] const beeline_pair* data() const { return pairs_.data(); }
  [[nodiscard]] std::size_t size() const { return pairs_.size(); }

 private:
  Ref items_;
  std::vector<Ref> parts_;
  std::vector<beeline_pair> pairs_;
};

// Null: an exception is set.
[[nodiscard]] PyObject* dict_of(const beeline_pair* pairs, std::size_t count);
// Bytes that another process wrote, as a str; those that are no UTF-8 as surrogates.
[[nodiscard]] PyObject* str_of(beeline_bytes bytes);
[[nodiscard]] PyObject* bytes_of(beeline_bytes bytes);

}  // namespace beeline::python
