#pragma once

#include <cstdint>

namespace beeline::os {

// A range of a segment, in bytes from its start.
struct Extent {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};

// The block size that segments count in; offsets and lengths of extents are multiples of it.
inline constexpr std::uint64_t kBlockBytes = 4096;

}  // namespace beeline::os
