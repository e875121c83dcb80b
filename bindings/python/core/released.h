#pragma once
// A stretch of code without the GIL.

#include <unistd.h>

#include <cstddef>

#include "bindings/python/core/python.h"

namespace beeline::python {

// Other threads of the interpreter run while it lives. The code in it touches no Python object.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      // The interpreter ends, and it ends this thread with an exception, which would run
      // destructors here that need the GIL. The thread waits for the end of the process, as it does
      // in later versions of the interpreter.
      while (true) pause();
    }
  }

 private:
  PyThreadState* thread_;
};

// A copy of more bytes than this is made without the GIL. Giving the GIL away and taking it back
// costs about as much as copying a few KiB, and another thread may keep it for milliseconds.
inline constexpr std::size_t kMostBytesWithGil = 65536;

// Runs `call`, without the GIL where it copies many bytes.
template <typename Call>
auto copying(std::size_t bytes, Call call) {
  if (bytes <= kMostBytesWithGil) return call();
  Released released;
  return call();
}

}  // namespace beeline::python
