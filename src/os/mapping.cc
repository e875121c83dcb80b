#include "src/os/mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/interprocess/exceptions.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "shm/mutant.h"
#include "src/os/error.h"

namespace beeline::os {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14

// What mapped_region asks of a thing that can be mapped.
class Mappable {
 public:
  explicit Mappable(int fd) noexcept : fd_(fd) {}
  boost::interprocess::mapping_handle_t get_mapping_handle() const noexcept {
    return boost::interprocess::ipcdetail::mapping_handle_from_file_handle(fd_);
  }

 private:
  int fd_;
};

std::string describe(int fd, std::size_t size_bytes) {
  return "map " + std::to_string(size_bytes) + " bytes of segment (fd " + std::to_string(fd) + ")";
}

Result<void> check_size(int fd, std::size_t size_bytes) {
  // Boost would take 0 for "the whole file", which a peer may have chosen.
  if (size_bytes == 0) {
    return fail(ErrorCode::kInvalid, describe(fd, size_bytes) + ": the size must not be 0");
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_failure(describe(fd, size_bytes) + ": fstat");
  if (static_cast<std::uint64_t>(status.st_size) < size_bytes) {
    return fail(ErrorCode::kBadSegment, describe(fd, size_bytes) + ": it has only " +
                                            std::to_string(status.st_size) +
                                            ", a read beyond would be SIGBUS");
  }
  return {};
}

}  // namespace

Mapping::Mapping(boost::interprocess::mapped_region&& region) noexcept
    : region_(std::move(region)) {}

Result<Mapping> Mapping::map(int fd, std::size_t size_bytes, boost::interprocess::mode_t mode) {
  if (auto checked = check_size(fd, size_bytes); !checked) {
    return tl::unexpected<Error>(std::move(checked.error()));
  }
  try {
    return Mapping(boost::interprocess::mapped_region(Mappable(fd), mode, 0, size_bytes));
  } catch (const boost::interprocess::interprocess_exception& exception) {
    const int sys_errno = exception.get_native_error();
    const auto code = sys_errno == ENOMEM ? ErrorCode::kNoMemory : ErrorCode::kSystem;
    return system_failure(code, sys_errno, describe(fd, size_bytes));
  }
}

Result<Mapping> Mapping::map_writable(int fd, std::size_t size_bytes) {
  auto mapping = map(fd, size_bytes, boost::interprocess::read_write);
  if (!mapping) return mapping;
  // A child must not be able to write what its parent says.
  if (!shm::is_mutant(shm::Mutant::kForkInherits) &&
      ::madvise(mapping->data(), size_bytes, MADV_DONTFORK) != 0) {
    return system_failure(describe(fd, size_bytes) + ": madvise DONTFORK");
  }
  return mapping;
}

void Mapping::hold_addresses_in_child() const noexcept {
  if (data() == nullptr) return;
  (void)::mmap(data(), size(), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

Result<Mapping> Mapping::map_readable(int fd, std::size_t size_bytes) {
  return map(fd, size_bytes, boost::interprocess::read_only);
}

std::byte* Mapping::data() const noexcept { return static_cast<std::byte*>(region_.get_address()); }

Result<void> Mapping::populate_read(std::size_t offset_bytes, std::size_t length_bytes) const {
  const std::string what = "populate " + std::to_string(length_bytes) + " bytes at offset " +
                           std::to_string(offset_bytes) + " of a mapping of " +
                           std::to_string(size()) + " bytes";
  if (offset_bytes > size() || length_bytes > size() - offset_bytes) {
    return fail(ErrorCode::kInvalid, what + ": not inside");
  }
  if (length_bytes == 0) return {};
  const std::size_t page_bytes = boost::interprocess::mapped_region::get_page_size();
  const std::size_t in_page_bytes = offset_bytes % page_bytes;
  std::byte* const start = data() + (offset_bytes - in_page_bytes);
  if (::madvise(start, length_bytes + in_page_bytes, kPopulateRead) == 0) return {};

  const int sys_errno = errno;
  switch (sys_errno) {
    case EINVAL:
      return {};  // a kernel that does not know it
    case EFAULT:
    case EHWPOISON:
      return system_failure(ErrorCode::kBadSegment, sys_errno,
                            what + ": a read would be SIGBUS; refuse the segment");
    case ENOMEM:
      return system_failure(ErrorCode::kNoMemory, sys_errno, what);
    default:
      return system_failure(ErrorCode::kSystem, sys_errno, what);
  }
}

}  // namespace beeline::os
