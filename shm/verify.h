#pragma once
// Walks the invariants of one segment and names the first that is broken. The bytes are an
// untrusted private copy: cut short, half written or random, the walk stays inside and ends.
//
//   verify_segment -> verify_header -> verify_link | verify_home | verify_directory | verify_status
//                                      | verify_history
//
// A segment that is not ready yet was shown to no other process: only its header is judged.

#include "shm/verify_directory.h"
#include "shm/verify_history.h"
#include "shm/verify_home.h"
#include "shm/verify_link.h"

namespace beeline::shm {

[[nodiscard]] inline bool is_ready(ByteView bytes) {
  return bytes.u64(offsetof(SegmentHeader, ready)) == 1;
}

// Nothing when every invariant that can be judged holds.
[[nodiscard]] inline Finding verify_segment(std::span<const std::byte> copy,
                                            Taken taken = Taken::kAfterDeath) {
  const ByteView bytes(copy);
  if (auto finding = verify_header(bytes)) return finding;
  if (!is_ready(bytes)) return std::nullopt;
  switch (kind_of(bytes)) {  // NEVER: verify_header() lets no other kind pass
    case SegmentKind::kLink:
      return verify_link(bytes, taken);
    case SegmentKind::kHome:
      return verify_home(bytes, taken);
    case SegmentKind::kStatus:
      return verify_status(bytes, taken);
    case SegmentKind::kDirectory:
      return verify_directory(bytes, taken);
    case SegmentKind::kHistory:
      return verify_history(bytes, taken);
    case SegmentKind::kNone:  // NEVER: verify_header() lets no other kind pass
      break;
  }
  return std::nullopt;
}

}  // namespace beeline::shm
