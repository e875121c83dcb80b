#include "tests/killpoints/apart_heap.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace beeline::killpoints {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kAlignment = 16;

alignas(kAlignment) std::array<std::byte, kBytes> g_memory;
std::size_t g_used = 0;
bool g_is_on = false;

bool is_apart(const void* memory) {
  return memory >= g_memory.data() && memory < g_memory.data() + kBytes;
}

void* allocate(std::size_t bytes) {
  if (!g_is_on) return std::malloc(bytes == 0 ? 1 : bytes);
  const std::size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  if (rounded > kBytes - g_used) return nullptr;
  void* const memory = g_memory.data() + g_used;
  g_used += rounded;
  return memory;
}

void release(void* memory) {
  if (!g_is_on && !is_apart(memory)) std::free(memory);
}

}  // namespace

ApartHeap::ApartHeap() { g_is_on = true; }
ApartHeap::~ApartHeap() { g_is_on = false; }

}  // namespace beeline::killpoints

void* operator new(std::size_t bytes) {
  void* const memory = beeline::killpoints::allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { beeline::killpoints::release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  beeline::killpoints::release(memory);
}
