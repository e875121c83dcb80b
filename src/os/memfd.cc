#include "src/os/memfd.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string_view>

#include "src/os/error.h"
#include "src/os/memory_limit.h"
#include "src/os/uninterrupted.h"

namespace beeline::os {
namespace {

constexpr std::string_view kMemoryRemedy =
    "free memory, give the machine more, or send less at a time";
constexpr unsigned kNoExecSeal = 0x0008U;  // MFD_NOEXEC_SEAL, Linux 6.3; glibc 2.36 lacks it
constexpr std::size_t kMaxLabelBytes = 249;
constexpr std::uint64_t kMaxSizeBytes = std::numeric_limits<off_t>::max();
constexpr std::uint64_t kStatBlockBytes = 512;  // st_blocks counts in these on every file system
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value & 15U]);
    value >>= 4U;
  } while (value != 0);
  return "0x" + text;
}

tl::unexpected<Error> bad_segment(int fd, const std::string& expected, const std::string& found) {
  return fail(ErrorCode::kBadSegment, "segment (fd " + std::to_string(fd) + "): expected " +
                                          expected + ", found " + found +
                                          "; it is refused, drop the peer that sent it");
}

Result<struct stat> status_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_failure("fstat segment, fd " + std::to_string(fd));
  return status;
}

std::uint64_t bytes_in(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_blocks) * kStatBlockBytes;
}

// Made at the first extent and never destroyed, because threads may send while the process ends.
const MemoryLimit& memory_limit() {
  static const auto* const limit = new MemoryLimit;
  return *limit;
}

constexpr int seals_of(Growth growth) {
  return growth == Growth::kAllowed ? kSeals & ~F_SEAL_GROW : kSeals;
}

Result<void> check_file_system(int fd) {
  struct statfs file_system {};
  if (::fstatfs(fd, &file_system) != 0) {
    return system_failure("fstatfs segment, fd " + std::to_string(fd));
  }
  if (file_system.f_type == TMPFS_MAGIC) return {};
  return bad_segment(fd, "tmpfs (type " + hex(TMPFS_MAGIC) + ")",
                     "file system type " + hex(static_cast<std::uint64_t>(file_system.f_type)));
}

Result<void> check_status(int fd, const struct stat& status, std::uint64_t size_bytes,
                          std::uint64_t least_allocated_bytes, Growth growth) {
  if (!S_ISREG(status.st_mode)) {
    return bad_segment(fd, "a regular file", "file mode " + hex(status.st_mode));
  }
  if (static_cast<std::uint64_t>(status.st_blksize) != kBlockBytes) {
    return bad_segment(fd, "blocks of " + std::to_string(kBlockBytes) + " bytes",
                       std::to_string(status.st_blksize) +
                           " (huge pages: /sys/kernel/mm/transparent_hugepage/shmem_enabled must "
                           "not be 'always' or 'force')");
  }
  const auto length = static_cast<std::uint64_t>(status.st_size);
  if (growth == Growth::kAllowed ? length < size_bytes : length != size_bytes) {
    const std::string least = growth == Growth::kAllowed ? "at least " : "";
    return bad_segment(fd, least + std::to_string(size_bytes) + " bytes", std::to_string(length));
  }
  if (bytes_in(status) < least_allocated_bytes) {
    return bad_segment(fd, "at least " + std::to_string(least_allocated_bytes) + " bytes allocated",
                       std::to_string(bytes_in(status)));
  }
  return {};
}

}  // namespace

Result<UniqueFd> create_memfd(const std::string& name, std::uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxSizeBytes) {
    return fail(ErrorCode::kInvalid, "create segment '" + name + "': size must be 1 to " +
                                         std::to_string(kMaxSizeBytes) + " bytes, is " +
                                         std::to_string(size_bytes));
  }
  if (name.size() > kMaxLabelBytes) {
    return fail(ErrorCode::kInvalid, "create segment: name must have at most " +
                                         std::to_string(kMaxLabelBytes) + " bytes, has " +
                                         std::to_string(name.size()));
  }
  if (const auto refused = file_size_refusal(size_bytes)) {
    return system_failure(ErrorCode::kNoMemory, EFBIG,
                          "create segment '" + name + "': " + *refused);
  }
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create(name.c_str(), kFlags | kNoExecSeal));
  if (!fd.valid() && errno == EINVAL) fd.reset(::memfd_create(name.c_str(), kFlags));
  if (!fd.valid()) return system_failure("memfd_create '" + name + "'");
  if (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return system_failure("set size of segment '" + name + "' to " + std::to_string(size_bytes) +
                          " bytes");
  }
  return fd;
}

Result<void> allocate(int fd, Extent extent, Growth growth) {
  const std::string what = "allocate " + std::to_string(extent.length_bytes) + " bytes at offset " +
                           std::to_string(extent.offset_bytes) + " of segment (fd " +
                           std::to_string(fd) + ")";
  const auto status = status_of(fd);
  if (!status) return tl::unexpected<Error>(status.error());
  const auto length_bytes = static_cast<std::uint64_t>(status->st_size);
  const std::uint64_t most = growth == Growth::kAllowed ? kMaxSizeBytes : length_bytes;
  if (extent.length_bytes == 0 || extent.offset_bytes > most ||
      extent.length_bytes > most - extent.offset_bytes) {
    return fail(ErrorCode::kInvalid, what + ": not inside its " + std::to_string(most) + " bytes");
  }
  const std::uint64_t end = extent.offset_bytes + extent.length_bytes;
  if (const auto refused = file_size_refusal(end); refused && end > length_bytes) {
    return system_failure(ErrorCode::kNoMemory, EFBIG, what + ": " + *refused);
  }
  if (const auto refused = memory_limit().refusal(extent.length_bytes)) {
    return system_failure(ErrorCode::kNoMemory, ENOMEM,
                          what + ": " + *refused + "; " + std::string(kMemoryRemedy));
  }
  const int outcome = uninterrupted([&] {
    return ::fallocate(fd, 0, static_cast<off_t>(extent.offset_bytes),
                       static_cast<off_t>(extent.length_bytes));
  });
  if (outcome == 0) return {};
  const int sys_errno = errno;
  if (sys_errno != ENOSPC && sys_errno != ENOMEM) {
    return system_failure(ErrorCode::kSystem, sys_errno, what);
  }
  return system_failure(ErrorCode::kNoMemory, sys_errno, what + ": " + std::string(kMemoryRemedy));
}

Result<void> seal(int fd, Growth growth) {
  if (::fcntl(fd, F_ADD_SEALS, seals_of(growth)) == 0) return {};
  return system_failure("seal segment, fd " + std::to_string(fd));
}

Result<void> check_foreign(int fd, std::uint64_t size_bytes, std::uint64_t allocated_bytes,
                           Growth growth) {
  if (auto checked = check_file_system(fd); !checked) return checked;

  // Seals before sizes: once they are on, the values of fstat stay true or grow.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const int wanted = seals_of(growth);
  if (seals < 0 || (seals & wanted) != wanted) {
    const char* const names = growth == Growth::kAllowed ? " (shrink, future write, seal)"
                                                         : " (shrink, grow, future write, seal)";
    return bad_segment(fd, "seals " + hex(static_cast<std::uint64_t>(wanted)) + names,
                       seals < 0 ? "a file that cannot be sealed"
                                 : "seals " + hex(static_cast<std::uint64_t>(seals)));
  }
  const auto status = status_of(fd);
  if (!status) return tl::unexpected<Error>(status.error());
  return check_status(fd, *status, size_bytes, allocated_bytes, growth);
}

Result<std::size_t> read_at(int fd, std::uint64_t offset_bytes, std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t part = uninterrupted([&] {
      return ::pread(fd, to.data() + done, to.size() - done,
                     static_cast<off_t>(offset_bytes + done));
    });
    if (part < 0) return system_failure("read a file");
    if (part == 0) break;
    done += static_cast<std::size_t>(part);
  }
  return done;
}

Result<void> write_at(int fd, std::uint64_t offset_bytes, std::span<const std::byte> from) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t part = uninterrupted([&] {
      return ::pwrite(fd, from.data() + done, from.size() - done,
                      static_cast<off_t>(offset_bytes + done));
    });
    if (part < 0) return system_failure("write a file");
    done += static_cast<std::size_t>(part);
  }
  return {};
}

Result<FileSize> file_size(int fd) {
  const auto status = status_of(fd);
  if (!status) return tl::unexpected<Error>(status.error());
  return FileSize{bytes_in(*status), static_cast<std::uint64_t>(status->st_size)};
}

}  // namespace beeline::os
