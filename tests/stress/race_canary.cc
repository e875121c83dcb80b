// The thread sanitizer has to report this mistake, or its verdict on lane_stress_test is worth
// nothing: a message in a shared mapping is published without release and read without acquire.

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <thread>

namespace {

struct Shared {
  std::atomic<int> published;
  int message;
};

}  // namespace

int main() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared{};
  std::thread sender([&] {
    shared.message = 42;
    shared.published.store(1, std::memory_order_relaxed);
  });
  while (shared.published.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  std::printf("read %d, and nobody said that this is a race\n", shared.message);
  sender.join();
}
