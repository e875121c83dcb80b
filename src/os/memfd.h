#pragma once

// A segment is a sealed memfd. Its life on the side of its owner:
//
//   create_memfd (full size, all holes) -> allocate (first extent) -> Mapping::map_writable -> seal
//   ... later: allocate (next extent) as often as needed; memory is never given back.
//
// The file of a link grows: it is as long as its allocations, and its seals allow that.
//
// On the side of a peer that is given the descriptor: check_foreign -> Mapping::map_readable.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <beeline/result.h>

#include "src/os/extent.h"
#include "src/os/fd.h"

namespace beeline::os {

// A segment has its full length from the start, or grows with its allocations.
enum class Growth : std::uint8_t { kNone, kAllowed };

// Makes an anonymous file of `size_bytes` (larger than 0), all holes: it takes no memory yet.
// `name` (at most 249 bytes) is shown in /proc/PID/maps and means nothing else. The caller owns
// the result. Errors: kInvalid (size or name), kNoMemory (the text names RLIMIT_FSIZE: beyond it
// the kernel would send SIGXFSZ), kSystem.
[[nodiscard]] Result<UniqueFd> create_memfd(const std::string& name, std::uint64_t size_bytes);

// Allocates memory for an extent and fills holes with zeros; works before and after sealing. Bytes
// already in the extent stay. The file becomes longer if it may grow. When memory runs out the
// kernel seldom refuses: it kills processes. So we look first (50 us), see MemoryLimit, and refuse
// an extent that would leave too little. That is a guess, not a promise. Errors: kNoMemory (the
// text names bytes and limit; the extent is as before), kInvalid (outside of the file), kSystem.
[[nodiscard]] Result<void> allocate(int fd, Extent extent, Growth growth = Growth::kNone);

// Seals size, future writable mappings and the seals themselves. From here on no process, the
// owner included, can map the file writable, write, truncate or punch a hole, or make it longer
// unless it may grow. Mappings that exist stay writable. REQUIRES: the owner's writable mapping
// exists. Errors: kSystem (EPERM: sealed before).
[[nodiscard]] Result<void> seal(int fd, Growth growth = Growth::kNone);

// Accepts a descriptor that a peer sent only if no mapping of it can ever fault or be shrunk: it
// lies on tmpfs with 4 KiB blocks, is exactly `size_bytes` long (at least, if it may grow),
// carries at least the seals of seal(), and has `allocated_bytes` of memory or more. The kernel
// says how many bytes are allocated, not which ones: Mapping::populate_read proves a range.
// Errors: kBadSegment, naming the expected and the found value; kSystem.
[[nodiscard]] Result<void> check_foreign(int fd, std::uint64_t size_bytes,
                                         std::uint64_t allocated_bytes,
                                         Growth growth = Growth::kNone);

// Copies bytes of the file and returns how many: fewer than `to` has if the file ends before.
// Holes read as zero. Errors: kSystem.
[[nodiscard]] Result<std::size_t> read_at(int fd, std::uint64_t offset_bytes,
                                          std::span<std::byte> to);

// Writes all bytes of `from` there. Errors: kSystem.
[[nodiscard]] Result<void> write_at(int fd, std::uint64_t offset_bytes,
                                    std::span<const std::byte> from);

// How many bytes of memory the file has now, and how long it is. Errors: kSystem.
struct FileSize {
  std::uint64_t allocated_bytes = 0;
  std::uint64_t length_bytes = 0;
};
[[nodiscard]] Result<FileSize> file_size(int fd);

}  // namespace beeline::os
