#pragma once
// Views of memory that the hive owns.

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

// The slots of the buffer protocol for an object with the members `agent` and `views`, and the
// functions span() and may_view(). Each view is counted in the object and in its agent.
template <typename Object, bool IsReadOnly>
struct View {
  static int get(PyObject* self, Py_buffer* view, int flags) {
    auto& object = *reinterpret_cast<Object*>(self);
    view->obj = nullptr;
    if (!object.may_view()) return -1;
    std::size_t length = 0;
    void* bytes = object.span(&length);
    if (PyBuffer_FillInfo(view, self, bytes, static_cast<Py_ssize_t>(length), IsReadOnly, flags)) {
      return -1;
    }
    ++object.views;
    object.attachment().add_view();
    return 0;
  }

  static void release(PyObject* self, Py_buffer* /*view*/) {
    auto& object = *reinterpret_cast<Object*>(self);
    --object.views;
    object.attachment().drop_view();
  }
};

}  // namespace beeline::python
