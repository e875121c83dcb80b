#include "bench/peers/shared_memory.h"

#include <sys/mman.h>

#include <utility>

#include "src/os/error.h"

namespace beeline::bench::peers {

Result<SharedMemory> SharedMemory::create(std::size_t bytes) {
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return os::system_failure("map memory for a peer");
  return SharedMemory(static_cast<std::byte*>(data), bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace beeline::bench::peers
