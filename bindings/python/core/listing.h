#pragma once
// Lists of the C interface.

#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"

namespace beeline::python {

// Owns a list of the C interface, which has the members `count` and `items`.
template <typename List, void (*Free)(List*)>
class Listing {
 public:
  explicit Listing(List* owned) : owned_(owned) {}
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  ~Listing() { Free(owned_); }

  // A list of `convert(item)`. Null: an exception is set.
  template <typename Convert>
  [[nodiscard]] PyObject* list(Convert convert) const {
    Ref made(PyList_New(static_cast<Py_ssize_t>(owned_->count)));
    for (std::size_t at = 0; made && at < owned_->count; ++at) {
      PyObject* item = convert(owned_->items[at]);
      if (item == nullptr) return nullptr;
      if (PyList_SetItem(made.get(), static_cast<Py_ssize_t>(at), item) != 0) return nullptr;
    }
    return made.release();
  }
  [[nodiscard]] const List& operator*() const { return *owned_; }

 private:
  List* owned_;
};

}  // namespace beeline::python
