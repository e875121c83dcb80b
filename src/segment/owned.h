#pragma once
// A segment that this process created: sealed memfd, one writable mapping for life, memory added by
// extents. A link has more mappings, one for each window in use; none of them ever moves.

#include <string>
#include <vector>

#include <beeline/result.h>

#include "shm/link.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"

namespace beeline::segment {

class Owned {
 public:
  Owned() = default;

  // Creates, allocates `first_bytes` from the start, maps and seals. The memory is zero. Tools see
  // `name` in /proc. Errors: kNoMemory, kSystem.
  [[nodiscard]] static Result<Owned> create(const std::string& name, std::uint64_t size_bytes,
                                            std::uint64_t first_bytes);

  // Creates a link: the file is as long as its first extent and grows; its first part is mapped.
  // Errors: kNoMemory, kSystem.
  [[nodiscard]] static Result<Owned> create_link(const std::string& name,
                                                 const shm::LinkLayout& layout);

  // Adds memory; widened to whole pages. Errors: kNoMemory; then nothing has changed.
  [[nodiscard]] Result<void> allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) const;

  // Maps the window of a slab if it is not mapped, and shows it to the view. REQUIRES: the view is
  // of this memory. Errors: kNoMemory (address space), kSystem.
  [[nodiscard]] Result<void> open_window(shm::Link& view, shm::SlabIndex slab);

  // See os::Mapping.
  void hold_addresses_in_child() const noexcept;

  [[nodiscard]] std::byte* data() const { return mapping_.data(); }
  // Bytes from data() on: the whole segment, or the first part of a link.
  [[nodiscard]] std::uint64_t size() const { return parts_.front().length_bytes; }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Bytes from data() on that are mapped: windows that are mapped later are duplicates of the last.
  [[nodiscard]] std::uint64_t mapped_bytes() const { return mapping_.size(); }

 private:
  struct MappedWindow {
    os::Extent extent;
    os::Mapping mapping;
  };
  static Result<Owned> create(const std::string& name, std::uint64_t length_bytes,
                              std::uint64_t first_bytes, std::vector<os::Extent> parts,
                              os::Growth growth);
  [[nodiscard]] Result<os::Mapping> map_window(const os::Extent& extent) const;

  os::UniqueFd fd_;
  os::Mapping mapping_;
  // The parts of the file in this mapping, one behind the other. After the first part of a link
  // comes the first page of each class of slabs: a sealed file takes no new writable mapping, but
  // these pages can be duplicated.
  std::vector<os::Extent> parts_{1};
  os::Growth growth_ = os::Growth::kNone;
  std::vector<MappedWindow> windows_;
};

}  // namespace beeline::segment
