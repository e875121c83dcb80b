#include "src/look/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shm/verify.h"
#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/memfd.h"

namespace beeline::look {
namespace {

struct DataRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  // equal to `from`: no data at or behind the given offset
};

// The first range of data at or behind `from`, cut at `end`.
Result<DataRange> next_data(int fd, std::uint64_t from, std::uint64_t end,
                            const std::string& name) {
  const off_t data = ::lseek(fd, static_cast<off_t>(from), SEEK_DATA);
  if (data < 0 && errno == ENXIO) return DataRange{end, end};
  if (data < 0) return os::system_failure(fmt::format("cannot find the data of {}", name));
  const off_t hole = ::lseek(fd, data, SEEK_HOLE);
  // If another process cuts the file meanwhile, the data ends at the offset where it was found.
  const off_t last = hole < 0 ? data : hole;
  return DataRange{std::min(static_cast<std::uint64_t>(data), end),
                   std::min(static_cast<std::uint64_t>(last), end)};
}

// Reads up to `length` bytes; fewer where the file ends.
Result<std::uint64_t> read_at(int fd, std::byte* to, std::uint64_t length, std::uint64_t offset,
                              const std::string& name) {
  auto done = os::read_at(fd, offset, {to, length});
  if (done) return *done;
  Error error = done.error();
  error.text = fmt::format("cannot read {} at offset {}: {}", name, offset, error.text);
  return tl::unexpected(std::move(error));
}

Result<void> write_at(int fd, const std::byte* from, std::uint64_t length, std::uint64_t offset,
                      const std::string& name) {
  std::uint64_t done = 0;
  while (done < length) {
    const ssize_t part =
        ::pwrite(fd, from + done, length - done, static_cast<off_t>(offset + done));
    if (part > 0) {
      done += static_cast<std::uint64_t>(part);
    } else if (errno != EINTR) {
      return os::system_failure(fmt::format("cannot write {} at offset {}", name, offset + done));
    }
  }
  return {};
}

Result<struct stat> look_at(int fd, const std::string& name) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return os::system_failure(fmt::format("cannot look at {}", name));
  if (!S_ISREG(found.st_mode)) {
    return fail(ErrorCode::kBadSegment, fmt::format("{} is not a regular file: give a segment that "
                                                    "shm-dump --save has written",
                                                    name));
  }
  return found;
}

Result<void> copy_data(int from, int to, std::uint64_t size_bytes, const std::string& name) {
  std::vector<std::byte> buffer(1U << 20);
  for (std::uint64_t at = 0; at < size_bytes;) {
    const auto range = next_data(from, at, size_bytes, name);
    if (!range) return tl::unexpected(range.error());
    if (range->from == range->to) break;
    for (at = range->from; at < range->to;) {
      const std::uint64_t length = std::min<std::uint64_t>(buffer.size(), range->to - at);
      const auto got = read_at(from, buffer.data(), length, at, name);
      if (!got) return tl::unexpected(got.error());
      if (*got == 0) return {};
      if (auto done = write_at(to, buffer.data(), *got, at, name); !done) return done;
      at += *got;
    }
  }
  return {};
}

// How long the whole segment may become. The file of a link ends where its allocated memory ends,
// or where one of its readers has cut it.
Result<std::uint64_t> whole_bytes(int fd, std::uint64_t file_bytes, const std::string& name) {
  shm::SegmentHeader header{};
  const auto got = read_at(fd, reinterpret_cast<std::byte*>(&header), sizeof(header), 0, name);
  if (!got) return tl::unexpected(got.error());
  const bool grows = *got == sizeof(header) && header.magic == shm::kMagic &&
                     header.kind == static_cast<std::uint32_t>(shm::SegmentKind::kLink) &&
                     header.size_bytes >= sizeof(header) && header.size_bytes <= kMaxSegmentBytes;
  return grows ? header.size_bytes : file_bytes;
}

// The end of the memory that a link says its owner has allocated.
std::uint64_t announced_end(shm::ByteView view, const shm::LinkLayout& layout) {
  const auto extents = shm::extents_of(view, layout);
  std::uint64_t end = layout.first_extent;
  if (extents.strings != 0) end = layout.stamps;
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) {
    if (extents.slabs[i] == 0) continue;
    end = layout.slabs[i] + extents.slabs[i] * layout.classes[i].slab_bytes;
  }
  return end;
}

}  // namespace

Capture::~Capture() {
  if (base_ != nullptr) ::munmap(base_, mapped_bytes_);
}

Result<void> Capture::read_range(int fd, std::uint64_t from, std::uint64_t to,
                                 const std::string& name) {
  const auto got = read_at(fd, base_ + from, to - from, from, name);
  if (!got) return tl::unexpected(got.error());
  return {};
}

Result<void> Capture::read_data(int fd, std::uint64_t to, const std::string& name) {
  for (std::uint64_t at = 0; at < to;) {
    const auto range = next_data(fd, at, to, name);
    if (!range) return tl::unexpected(range.error());
    if (range->from == range->to) break;
    if (auto done = read_range(fd, range->from, range->to, name); !done) return done;
    at = range->to;
  }
  return {};
}

Result<void> Capture::read_slabs(int fd, const shm::LinkLayout& layout, const std::string& name) {
  const auto extents = shm::extents_of(shm::ByteView(bytes()), layout);
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) {
    const std::uint32_t first = layout.classes[i].first;
    for (std::uint32_t number = first; number < first + extents.slabs[i]; ++number) {
      const shm::SlabIndex slab(number);
      const std::uint64_t at = layout.slab_offset(slab);
      if (auto done = read_range(fd, at, at + kSlabPreviewBytes, name); !done) return done;
      const std::uint64_t texts = layout.carried_offset(slab);
      if (auto done = read_range(fd, texts, texts + shm::kCarriedBytes, name); !done) return done;
    }
  }
  return {};
}

Result<void> Capture::read_link(int fd, std::uint64_t file_bytes, const std::string& name) {
  const shm::LinkLayout layout(shm::contract_of(shm::ByteView(bytes())));
  if (auto done = read_data(fd, std::min(layout.slabs[0], file_bytes), name); !done) return done;
  // The owner may have extended the file since we looked.
  const auto found = look_at(fd, name);
  if (!found) return tl::unexpected(found.error());
  const auto now_bytes = static_cast<std::uint64_t>(found->st_size);
  if (now_bytes < announced_end(shm::ByteView(bytes()), layout)) {
    size_bytes_ = std::min(now_bytes, size_bytes_);  // the file was cut, and is shown so
    return {};
  }
  return read_slabs(fd, layout, name);
}

Result<Capture> Capture::take(int fd, const std::string& name) {
  const auto found = look_at(fd, name);
  if (!found) return tl::unexpected(found.error());
  const auto size = static_cast<std::uint64_t>(found->st_size);
  const auto whole = whole_bytes(fd, size, name);
  if (!whole) return tl::unexpected(whole.error());
  if (size < sizeof(shm::SegmentHeader) || *whole > kMaxSegmentBytes) {
    return fail(ErrorCode::kBadSegment,
                fmt::format("{} is no Beeline segment: it has {} bytes, a segment has {} to {}",
                            name, size, sizeof(shm::SegmentHeader), kMaxSegmentBytes));
  }
  void* base = ::mmap(nullptr, *whole, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return os::system_failure(ErrorCode::kNoMemory, errno,
                              fmt::format("no address space of {} bytes to copy {}", *whole, name));
  }
  Capture capture;
  capture.base_ = static_cast<std::byte*>(base);
  capture.mapped_bytes_ = capture.size_bytes_ = *whole;
  capture.allocated_bytes_ = static_cast<std::uint64_t>(found->st_blocks) * 512;
  constexpr std::uint64_t kHeaderBytes = sizeof(shm::SegmentHeader);
  if (auto done = capture.read_range(fd, 0, kHeaderBytes, name); !done) {
    return tl::unexpected(done.error());
  }
  const shm::ByteView view(capture.bytes());
  // Slabs are left out only if the segment is a link with a valid header.
  const bool is_link = shm::kind_of(view) == shm::SegmentKind::kLink && !shm::verify_header(view);
  if (!is_link) capture.size_bytes_ = std::min(size, *whole);
  const auto done = is_link ? capture.read_link(fd, size, name)
                            : capture.read_data(fd, capture.size_bytes_, name);
  if (!done) return tl::unexpected(done.error());
  return capture;
}

Result<void> save_copy(int fd, const std::string& path) {
  const auto found = look_at(fd, path);
  if (!found) return tl::unexpected(found.error());
  const std::string part = path + ".part";
  ::unlink(part.c_str());
  const os::UniqueFd to(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!to.valid()) return os::system_failure(fmt::format("cannot create {}", part));
  const auto size = static_cast<std::uint64_t>(found->st_size);
  Result<void> done;
  if (::ftruncate(to.get(), found->st_size) != 0) {
    done = os::system_failure(fmt::format("cannot make {} {} bytes long", part, size));
  }
  if (done) done = copy_data(fd, to.get(), size, path);
  if (done && ::rename(part.c_str(), path.c_str()) != 0) {
    done = os::system_failure(fmt::format("cannot rename {} to {}", part, path));
  }
  if (!done) ::unlink(part.c_str());
  return done;
}

}  // namespace beeline::look
