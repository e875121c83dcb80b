#pragma once

#include <cstddef>

#include <boost/interprocess/mapped_region.hpp>

#include <beeline/result.h>

namespace beeline::os {

/// A shared mapping of a file from its start, unmapped by the destructor. It needs the descriptor
/// only while it is made. Mapping touches no page: nothing is read, nothing is allocated.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&&) noexcept = default;
  Mapping& operator=(Mapping&&) noexcept = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() = default;

  /// Maps `size_bytes` (larger than 0) readable and writable. A child made by fork does not get it
  /// (MADV_DONTFORK). Errors: kInvalid (size), kBadSegment (the file is shorter), kSystem
  /// (EPERM: it is sealed already), kNoMemory (address space).
  [[nodiscard]] static Result<Mapping> map_writable(int fd, std::size_t size_bytes);

  /// Maps `size_bytes` (larger than 0) for reading. REQUIRES: `fd` passed check_foreign or is our
  /// own, or a page may fault. A child made by fork inherits it. Errors: as map_writable.
  [[nodiscard]] static Result<Mapping> map_readable(int fd, std::size_t size_bytes);

  /// In a child made by fork: takes the addresses of a writable mapping, which the child did not
  /// get, so that nothing else comes to lie there and the destructor unmaps nothing else. Any
  /// access faults. May be called from a fork handler.
  void hold_addresses_in_child() const noexcept;

  /// The first mapped byte, null if nothing is mapped. Valid as long as this object or the one that
  /// it was moved to lives; moving does not change the address. Of a readable mapping it must not
  /// be written through.
  [[nodiscard]] std::byte* data() const noexcept;
  /// Length in bytes, 0 if nothing is mapped.
  [[nodiscard]] std::size_t size() const noexcept { return region_.get_size(); }

  /// Faults a range in for reading, widened to whole pages, so that later reads of it neither fault
  /// nor allocate. A hole in the range is allocated by this. Kernels before 5.14 do nothing and
  /// succeed. Errors: kInvalid (not inside the mapping), kBadSegment (a page cannot be had: a later
  /// read would be SIGBUS), kSystem.
  [[nodiscard]] Result<void> populate_read(std::size_t offset_bytes,
                                           std::size_t length_bytes) const;

 private:
  explicit Mapping(boost::interprocess::mapped_region&& region) noexcept;
  static Result<Mapping> map(int fd, std::size_t size_bytes, boost::interprocess::mode_t mode);

  boost::interprocess::mapped_region region_;
};

}  // namespace beeline::os
