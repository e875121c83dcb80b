#include "src/os/mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "src/os/error.h"

namespace beeline::os {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14
constexpr int kWritable = PROT_READ | PROT_WRITE;

std::string describe(int fd, std::size_t size_bytes) {
  return "map " + std::to_string(size_bytes) + " bytes of segment (fd " + std::to_string(fd) + ")";
}

Result<void> check_size(int fd, std::size_t size_bytes) {
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

// ENOMEM stands for address space and for the number of mappings: RLIMIT_AS, vm.max_map_count.
tl::unexpected<Error> no_mapping(int sys_errno, const std::string& what) {
  if (sys_errno != ENOMEM) return system_failure(ErrorCode::kSystem, sys_errno, what);
  return system_failure(ErrorCode::kNoMemory, sys_errno,
                        what + ": no address space; raise `ulimit -v` or vm.max_map_count");
}

// Null when there is no such mapping; see errno.
std::byte* map_at(void* at, int fd, Extent part, int protection) {
  void* const data =
      ::mmap(at, part.length_bytes, protection, MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED), fd,
             static_cast<off_t>(part.offset_bytes));
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<void> Mapping::advise(int advice, const char* name) const {
  if (::madvise(data_, size_, advice) == 0) return {};
  return system_failure("madvise " + std::string(name) + " for a mapping of " +
                        std::to_string(size_) + " bytes");
}

Result<Mapping> Mapping::map_writable(int fd, std::size_t size_bytes) {
  if (auto checked = check_size(fd, size_bytes); !checked) {
    return tl::unexpected<Error>(std::move(checked.error()));
  }
  const Extent all{0, size_bytes};
  return map_parts_writable(fd, {&all, 1});
}

Result<Mapping> Mapping::map_readable(int fd, std::size_t size_bytes) {
  if (auto checked = check_size(fd, size_bytes); !checked) {
    return tl::unexpected<Error>(std::move(checked.error()));
  }
  return map_part_readable(fd, {0, size_bytes});
}

Result<Mapping> Mapping::map_parts_writable(int fd, std::span<const Extent> parts) {
  std::size_t size_bytes = 0;
  for (const Extent& part : parts) size_bytes += part.length_bytes;
  void* at = nullptr;
  if (parts.size() > 1) {
    at = ::mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return no_mapping(errno, describe(fd, size_bytes));
  }
  Mapping mapping(static_cast<std::byte*>(at), at == nullptr ? 0 : size_bytes);
  std::size_t done = 0;
  for (const Extent& part : parts) {
    std::byte* const data =
        map_at(at == nullptr ? nullptr : mapping.data_ + done, fd, part, kWritable);
    if (data == nullptr) return no_mapping(errno, describe(fd, size_bytes));
    if (at == nullptr) mapping = Mapping(data, size_bytes);
    done += part.length_bytes;
  }
  // A child must not be able to write in its parent's name.
  if (auto advised = mapping.advise(MADV_DONTFORK, "DONTFORK"); !advised) {
    return tl::unexpected(std::move(advised.error()));
  }
  if (auto advised = mapping.advise(MADV_DONTDUMP, "DONTDUMP"); !advised) {
    return tl::unexpected(std::move(advised.error()));
  }
  return mapping;
}

Result<Mapping> Mapping::map_part_readable(int fd, Extent part) {
  std::byte* const data = map_at(nullptr, fd, part, PROT_READ);
  if (data == nullptr) return no_mapping(errno, describe(fd, part.length_bytes));
  Mapping mapping(data, part.length_bytes);
  if (auto advised = mapping.advise(MADV_DONTDUMP, "DONTDUMP"); !advised) {
    return tl::unexpected(std::move(advised.error()));
  }
  return mapping;
}

// mremap() with an old length of 0 keeps a shared mapping, and the new one begins at the same place
// in the file. Advice for the old mapping holds for the new one, too.
Result<Mapping> Mapping::duplicate(std::size_t at_bytes, std::size_t skip_bytes,
                                   std::size_t length_bytes) const {
  const std::string what = "map " + std::to_string(length_bytes) + " bytes more of a segment";
  if (at_bytes >= size_ || length_bytes == 0)
    return fail(ErrorCode::kInvalid, what + ": not inside");
  void* const moved = ::mremap(data_ + at_bytes, 0, skip_bytes + length_bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return no_mapping(errno, what);
  Mapping all(static_cast<std::byte*>(moved), skip_bytes + length_bytes);
  if (skip_bytes == 0) return all;
  if (::munmap(all.data_, skip_bytes) != 0) return no_mapping(errno, what);
  std::byte* const data = std::exchange(all.data_, nullptr) + skip_bytes;
  return Mapping(data, length_bytes);
}

void Mapping::hold_addresses_in_child() const noexcept {
  if (data() == nullptr) return;
  (void)::mmap(data(), size(), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

Result<void> Mapping::populate_read(std::size_t offset_bytes, std::size_t length_bytes) const {
  const std::string what = "populate " + std::to_string(length_bytes) + " bytes at offset " +
                           std::to_string(offset_bytes) + " of a mapping of " +
                           std::to_string(size()) + " bytes";
  if (offset_bytes > size() || length_bytes > size() - offset_bytes) {
    return fail(ErrorCode::kInvalid, what + ": not inside");
  }
  if (length_bytes == 0) return {};
  const std::size_t in_page_bytes = offset_bytes % kBlockBytes;
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
