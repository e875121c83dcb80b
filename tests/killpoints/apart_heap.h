#pragma once
// Memory for code that runs inside a handler. The interrupted code may stand in the middle of an
// allocation, and the C library's allocator must not be entered a second time.

namespace beeline::killpoints {

// While an object exists, `new` takes from a heap of its own and nothing is given back.
class ApartHeap {
 public:
  ApartHeap();
  ~ApartHeap();
  ApartHeap(const ApartHeap&) = delete;
  ApartHeap& operator=(const ApartHeap&) = delete;
};

}  // namespace beeline::killpoints
