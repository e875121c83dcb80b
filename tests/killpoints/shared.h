#pragma once
// Memory that a child fills and its parent reads.

#include <sys/mman.h>

#include <new>

namespace beeline::killpoints {

template <typename T>
class Shared {
 public:
  Shared()
      : at_(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    new (at_) T();
  }
  ~Shared() { ::munmap(at_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator*() const { return *static_cast<T*>(at_); }
  T* operator->() const { return static_cast<T*>(at_); }

 private:
  void* at_;
};

}  // namespace beeline::killpoints
