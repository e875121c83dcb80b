#pragma once
// A segment of another process, mapped read-only after it was checked.

#include <cstdint>

#include <beeline/result.h>

#include "shm/segment.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"

namespace beeline::segment {

// True when the segment itself is to blame, false when this process or the machine lacks something
// now.
[[nodiscard]] inline bool is_lie(const Error& error) {
  return error.code == ErrorCode::kBadSegment || error.code == ErrorCode::kWrongVersion;
}

// Why a segment is refused: another layout has other sizes, so its version is the better reason.
[[nodiscard]] Error refusal(int fd, const shm::SegmentIdentity& promised, Error error);

class Foreign {
 public:
  Foreign() = default;

  // Accepts a segment that was promised to be `promised`: tmpfs, sealed, of the agreed size, its
  // first `first_bytes` allocated, header as promised and ready. Takes the fd and keeps it, because
  // only the fd can tell how much is allocated later; what is refused stays with the caller.
  // Errors: kBadSegment, kWrongVersion (names both layout versions), kSystem.
  [[nodiscard]] static Result<Foreign> accept(os::UniqueFd&& fd,
                                              const shm::SegmentIdentity& promised,
                                              std::uint64_t first_bytes);

  // Proves that a further range can be read without a fault; counts it as allocated. Errors:
  // kBadSegment: the owner announced memory that it has not allocated; kNoMemory, kSystem.
  [[nodiscard]] Result<void> verify(std::uint64_t offset_bytes, std::uint64_t length_bytes);

  [[nodiscard]] const std::byte* data() const { return mapping_.data(); }
  [[nodiscard]] std::uint64_t size() const { return mapping_.size(); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool valid() const { return mapping_.data() != nullptr; }

 private:
  os::UniqueFd fd_;
  os::Mapping mapping_;
  std::uint64_t verified_bytes_ = 0;
};

}  // namespace beeline::segment
