#include "tests/killpoints/apart_heap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace beeline::killpoints {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr std::size_t kLargestAlignment = 4096;

alignas(kLargestAlignment) std::array<std::byte, kBytes> g_memory;
std::size_t g_used = 0;
bool g_is_on = false;

bool is_apart(const void* memory) {
  return memory >= g_memory.data() && memory < g_memory.data() + kBytes;
}

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// Null if there is none. REQUIRES: a power of two, at most kLargestAlignment.
void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t wanted = round_up(std::max<std::size_t>(bytes, 1), alignment);
  if (!g_is_on && alignment <= kAlignment) return std::malloc(wanted);
  if (!g_is_on) return std::aligned_alloc(alignment, wanted);
  const std::size_t begin = round_up(g_used, alignment);
  if (begin > kBytes || wanted > kBytes - begin) return nullptr;
  g_used = begin + wanted;
  return g_memory.data() + begin;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  if (!g_is_on && !is_apart(memory)) std::free(memory);
}

}  // namespace

ApartHeap::ApartHeap() { g_is_on = true; }
ApartHeap::~ApartHeap() { g_is_on = false; }

}  // namespace beeline::killpoints

// Arrays and `nothrow` end in these.
void* operator new(std::size_t bytes) {
  return beeline::killpoints::allocate_or_throw(bytes, beeline::killpoints::kAlignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return beeline::killpoints::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { beeline::killpoints::release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  beeline::killpoints::release(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  beeline::killpoints::release(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  beeline::killpoints::release(memory);
}
