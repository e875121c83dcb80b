#pragma once
// A segment that this process created: sealed memfd, one writable mapping for life, memory added by
// extents.

#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"

namespace beeline::segment {

class Owned {
 public:
  Owned() = default;

  // Creates, allocates `first_bytes` from the start, maps and seals. The memory is zero. `name` is
  // what tools see in /proc. Errors: kNoMemory, kSystem.
  [[nodiscard]] static Result<Owned> create(const std::string& name, std::uint64_t size_bytes,
                                            std::uint64_t first_bytes);

  // Adds memory; widened to whole pages. Errors: kNoMemory; then nothing has changed.
  [[nodiscard]] Result<void> allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) const;

  // See os::Mapping.
  void hold_addresses_in_child() const noexcept { mapping_.hold_addresses_in_child(); }

  [[nodiscard]] std::byte* data() const { return mapping_.data(); }
  [[nodiscard]] std::uint64_t size() const { return mapping_.size(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  os::UniqueFd fd_;
  os::Mapping mapping_;
};

}  // namespace beeline::segment
