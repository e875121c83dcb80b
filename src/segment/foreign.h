#pragma once
// A segment of another process, mapped read-only after it was checked. For a link the first part is
// mapped, and further windows on demand.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "shm/link.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"

namespace beeline::segment {

// True when the segment itself is to blame, false when this process or the machine lacks something
// now.
[[nodiscard]] inline bool is_lie(const Error& error) {
  return error.code == ErrorCode::kBadSegment || error.code == ErrorCode::kWrongVersion;
}

// The reason for refusing a segment. Another layout has other sizes, so a foreign version is the
// better reason for a wrong size.
[[nodiscard]] Error refusal(int fd, const shm::SegmentIdentity& promised, Error error);

class Foreign {
 public:
  Foreign() = default;

  // Accepts a segment if it is as promised: tmpfs, sealed, of the agreed size, its first
  // `first_bytes` allocated, header as promised and ready. Takes the fd and keeps it, because only
  // the fd can tell how much is allocated later. On an error the fd stays with the caller. Errors:
  // kBadSegment, kWrongVersion (names both layout versions), kSystem.
  [[nodiscard]] static Result<Foreign> accept(os::UniqueFd&& fd,
                                              const shm::SegmentIdentity& promised,
                                              std::uint64_t first_bytes);

  // Accepts a link that `owner` was said to have made for `peer`.
  [[nodiscard]] static Result<Foreign> accept_link(os::UniqueFd&& fd,
                                                   const shm::LinkContract& contract,
                                                   std::uint32_t owner, std::uint32_t peer,
                                                   const shm::LinkKey& key);

  // Proves that a further range can be read without a fault; counts it as allocated. REQUIRES: it
  // lies in one window, which is open, or in no window. Errors: kBadSegment: the owner announced
  // memory that it has not allocated; kNoMemory, kSystem.
  [[nodiscard]] Result<void> verify(std::uint64_t offset_bytes, std::uint64_t length_bytes);

  // Maps the window of a slab if it is not mapped, and shows it to the view. REQUIRES: the view is
  // of this memory. Errors: kNoMemory (address space), kSystem.
  [[nodiscard]] Result<void> open_window(shm::LinkView& view, shm::SlabIndex slab);

  // Closes the descriptor: nothing more will be verified.
  void close_fd() { fd_.reset(); }

  [[nodiscard]] const std::byte* data() const { return mapping_.data(); }
  // Bytes from data() on: the whole segment, or the first part of a link.
  [[nodiscard]] std::uint64_t size() const { return mapping_.size(); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool valid() const { return mapping_.data() != nullptr; }

 private:
  struct MappedWindow {
    os::Extent extent;
    os::Mapping mapping;
  };
  static Result<Foreign> accept(os::UniqueFd&& fd, const shm::SegmentIdentity& promised,
                                std::uint64_t first_bytes, std::uint64_t mapped_bytes,
                                os::Growth growth);
  // The mapped part that holds the start of a range, and the offset of the range in it; null: it is
  // not mapped.
  struct Place {
    const os::Mapping* mapping = nullptr;
    std::uint64_t offset_bytes = 0;
  };
  [[nodiscard]] Place find(std::uint64_t offset_bytes) const;

  os::UniqueFd fd_;
  os::Mapping mapping_;
  std::vector<MappedWindow> windows_;
  std::uint64_t verified_bytes_ = 0;
};

}  // namespace beeline::segment
