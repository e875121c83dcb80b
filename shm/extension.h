#pragma once
// What few messages carry: it lies in front of the payload, behind kFlagExtended. In a slot it is
// always in the payload area, also where the payload itself lies in a slab.
//
// Written by: the sender. Read by: the one receiver of the link. Zero means: not given.

#include <cstddef>
#include <cstdint>

namespace beeline::shm {

inline constexpr std::size_t kTraceBytes = 25;  // W3C: trace id 16, span id 8, flags 1

struct Extension {
  std::uint64_t cause;  // id of the message that was being handled when this one was sent
  std::uint64_t reserved0;
  unsigned char trace[kTraceBytes];
  unsigned char reserved[7];
};
static_assert(sizeof(Extension) == 48);
static_assert(offsetof(Extension, trace) == 16);

}  // namespace beeline::shm
