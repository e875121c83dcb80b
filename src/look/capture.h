#pragma once

// A private copy of a segment, taken without mapping it, because reading a hole through a mapping
// would allocate it. Only data is read (SEEK_DATA, pread), into an anonymous mapping. The other
// pages of that mapping stay untouched, so the copy of a link costs only the memory that the link
// really holds. Only the first bytes of each slab are read, as a preview.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <beeline/result.h>

#include "shm/link.h"

namespace beeline::look {

// The largest possible segment: a link with the largest lanes and payloads.
inline constexpr std::uint64_t kMaxSegmentBytes =
    shm::LinkLayout({shm::kMaxLaneSlots, shm::kMaxLaneSlots, shm::kMaxMaxPayload}).bytes;

// How many bytes of each slab a copy holds.
inline constexpr std::uint64_t kSlabPreviewBytes = 64;

// Owns the copy. Movable.
class Capture {
 public:
  Capture() = default;
  ~Capture();
  Capture(Capture&& other) noexcept { swap(other); }
  Capture& operator=(Capture&& other) noexcept {
    swap(other);
    return *this;
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Copies an open regular file; `name` stands in error texts. Errors: kBadSegment (no segment can
  // have that size), kNoMemory, kSystem.
  [[nodiscard]] static Result<Capture> take(int fd, const std::string& name);

  // The whole segment, as long as the file was. The copy of a link is as long as the link may
  // become, unless the file lacks memory that the link announces.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {base_, size_bytes_}; }
  // How much memory or disk the file takes.
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  void swap(Capture& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(allocated_bytes_, other.allocated_bytes_);
  }
  Result<void> read_range(int fd, std::uint64_t from, std::uint64_t to, const std::string& name);
  Result<void> read_data(int fd, std::uint64_t to, const std::string& name);
  Result<void> read_link(int fd, std::uint64_t file_bytes, const std::string& name);
  Result<void> read_slabs(int fd, const shm::LinkLayout& layout, const std::string& name);

  std::byte* base_ = nullptr;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t allocated_bytes_ = 0;
};

// Copies an open file to `path` and keeps its holes. The copy appears whole or not at all. Its
// mode is 0600, because it holds messages.  Errors: kSystem.
[[nodiscard]] Result<void> save_copy(int fd, const std::string& path);

}  // namespace beeline::look
