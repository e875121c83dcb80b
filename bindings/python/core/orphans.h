#pragma once
// C handles without a Python object.

#include <vector>

namespace beeline::python {

// Handles whose objects were deallocated in a thread that may not use the agent. The owner of the
// agent frees them in its next call. The GIL guards the list.
class Orphans {
 public:
  using Free = void (*)(void* handle);

  void add(void* handle, Free free);
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  void free_all();
  // In a forked child: nothing in it may be touched.
  void forget() { waiting_.clear(); }

 private:
  struct Orphan {
    void* handle;
    Free free;
  };
  std::vector<Orphan> waiting_;
};

}  // namespace beeline::python
