#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <beeline/result.h>

#include "src/os/extent.h"

namespace beeline::os {

// A shared mapping of a file, unmapped by the destructor. It needs the descriptor only while it is
// made. Mapping touches no page: nothing is read, nothing is allocated. No mapping is in a core
// dump (MADV_DONTDUMP): the kernel would read the holes of the file for it and so allocate them.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  // Maps `size_bytes` (larger than 0) from the start of the file, readable and writable. A child
  // made by fork does not get it (MADV_DONTFORK). Errors: kInvalid (size), kBadSegment (the file
  // is shorter), kSystem (EPERM: it is sealed already), kNoMemory (address space).
  [[nodiscard]] static Result<Mapping> map_writable(int fd, std::size_t size_bytes);

  // Maps `size_bytes` (larger than 0) from the start for reading. REQUIRES: `fd` passed
  // check_foreign or is our own, or a page may fault. A child made by fork inherits it. Errors: as
  // map_writable.
  [[nodiscard]] static Result<Mapping> map_readable(int fd, std::size_t size_bytes);

  // Maps parts of a file that grows, the first of them first and the others behind it. They are
  // whole blocks and may lie beyond the end of the file. REQUIRES: no part is touched before the
  // file has grown so far and the memory is allocated, or it is SIGBUS. Errors: kSystem (EPERM: it
  // is sealed already), kNoMemory (address space).
  [[nodiscard]] static Result<Mapping> map_parts_writable(int fd, std::span<const Extent> parts);
  [[nodiscard]] static Result<Mapping> map_part_readable(int fd, Extent part);

  // A second mapping of the file with the same rights, allowed even if a seal forbids new writable
  // ones. It has `length_bytes` and begins `skip_bytes` after the place in the file that
  // `at_bytes` of this mapping shows. All are whole blocks. It may lie beyond the end of this
  // mapping and of the file. Errors: kInvalid (not inside), kNoMemory (address space), kSystem.
  [[nodiscard]] Result<Mapping> duplicate(std::size_t at_bytes, std::size_t skip_bytes,
                                          std::size_t length_bytes) const;

  // In a child made by fork: occupies the addresses of a writable mapping, which the child did not
  // get, so that no other mapping comes to lie there and the destructor unmaps nothing else. Any
  // access faults. May be called from a fork handler.
  void hold_addresses_in_child() const noexcept;

  // The first mapped byte, null if nothing is mapped. Valid while this object, or the one that it
  // was moved to, lives; moving does not change the address. Never write through it if the mapping
  // is readable only.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  // Length in bytes, 0 if nothing is mapped.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Faults a range in for reading, widened to whole pages, so that later reads of it neither fault
  // nor allocate. Allocates holes in the range. Kernels before 5.14 do nothing and succeed.
  // Errors: kInvalid (not inside the mapping), kBadSegment (a page cannot be had: a later read
  // would be SIGBUS), kSystem.
  [[nodiscard]] Result<void> populate_read(std::size_t offset_bytes,
                                           std::size_t length_bytes) const;

 private:
  Mapping(std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}
  [[nodiscard]] Result<void> advise(int advice, const char* name) const;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace beeline::os
