#include "tests/support/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "src/os/futex.h"

namespace beeline::test {

namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : fd_(::memfd_create("beeline-test-board", MFD_CLOEXEC)), size_(bytes) {
  if (!fd_.valid() || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
    give_up("shared memory of the test");
  }
  map();
}

SharedMemory::SharedMemory(int fd, std::size_t bytes) : fd_(fd), size_(bytes) { map(); }

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SharedMemory::map() {
  void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) give_up("map the shared memory of the test");
  data_ = static_cast<std::byte*>(at);
}

void Event::raise(std::uint32_t by) {
  count_.fetch_add(by);
  os::futex_wake_all(&count_);
}

bool Event::await(std::uint32_t at_least, Deadline deadline) const {
  for (;;) {
    const std::uint32_t now = count_.load();
    if (now >= at_least) return true;
    if (!await_change(now, deadline)) return false;
  }
}

bool Event::await_change(std::uint32_t seen, Deadline deadline) const {
  while (count_.load() == seen) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    (void)os::futex_wait(&count_, seen, left);
  }
  return true;
}

}  // namespace beeline::test
