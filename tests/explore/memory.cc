#include "tests/explore/memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace beeline::explore {

std::byte* arena() {
  alignas(4096) static std::byte memory[kArenaBytes];
  return memory;
}

Memory::Memory() : index_(kArenaBytes / 4), locations_(kFirst) {}

void Memory::clear() {
  for (std::size_t i = kFirst; i < count_; ++i) {
    Location& location = locations_[i];
    const std::size_t unit = static_cast<std::size_t>(location.at - arena()) / 4;
    for (std::size_t part = 0; part < location.size / 4U; ++part) index_[unit + part] = 0;
    location.stores.clear();
    location.loads.clear();
  }
  count_ = kFirst;
  view_count_ = 0;
}

std::size_t Memory::find(const void* at, std::size_t size) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - arena());
  if (offset + size > kArenaBytes || offset % size != 0 || size < 4) {
    std::fprintf(stderr, "explorer: an atomic word of %zu bytes lies outside of all segments\n",
                 size);
    std::abort();
  }
  std::uint16_t& known = index_[offset / 4];
  if (known != 0) {
    if (locations_[known].at == at && locations_[known].size == size) return known;
    std::fprintf(stderr, "explorer: the word at +0x%zx is used with two sizes\n", offset);
    std::abort();
  }
  if (count_ == locations_.size()) locations_.emplace_back();
  Location& location = locations_[count_];
  location.at = arena() + offset;
  location.size = static_cast<std::uint8_t>(size);
  location.writer = kNobody;
  location.plain = false;
  location.plain_reads = {};
  Store initial;
  std::memcpy(&initial.bits, at, size);
  initial.view = keep(View());
  location.stores.push_back(initial);
  for (std::size_t part = 0; part < size / 4; ++part) {
    index_[offset / 4 + part] = static_cast<std::uint16_t>(count_);
  }
  return count_++;
}

std::uint32_t Memory::keep(const View& view) {
  if (view_count_ == views_.size()) views_.emplace_back();
  views_[view_count_] = view;
  return view_count_++;
}

}  // namespace beeline::explore
