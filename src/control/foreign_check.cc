#include "src/control/foreign_check.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "shm/history.h"
#include "shm/home.h"
#include "shm/status.h"
#include "src/os/memfd.h"

namespace beeline::control {
namespace {

Result<void> check_segment(int fd, const shm::SegmentIdentity& promised,
                           std::uint64_t first_bytes) {
  const bool grows = promised.kind == shm::SegmentKind::kLink;
  if (auto good = os::check_foreign(fd, grows ? first_bytes : promised.size_bytes, first_bytes,
                                    grows ? os::Growth::kAllowed : os::Growth::kNone);
      !good) {
    return good;
  }
  alignas(shm::SegmentHeader) std::array<std::byte, sizeof(shm::SegmentHeader)> bytes{};
  if (!read_whole(fd, 0, bytes)) {
    return fail(ErrorCode::kBadSegment, "a segment that cannot be read: open it for reading too");
  }
  const auto& header = *reinterpret_cast<const shm::SegmentHeader*>(bytes.data());
  const shm::HeaderVerdict verdict = shm::check_header(header, promised.size_bytes, promised);
  if (verdict == shm::HeaderVerdict::kOk) return {};
  const std::string what =
      fmt::format("{} of PID {}, incarnation {}: {}", shm::to_string(promised.kind),
                  promised.owner_pid, promised.owner_incarnation.value(), shm::to_string(verdict));
  if (verdict == shm::HeaderVerdict::kForeignVersion) {
    return fail(
        ErrorCode::kWrongVersion,
        fmt::format("{}: it has {}.{}, the coordinator speaks {}.{}", what, header.layout_major,
                    header.layout_minor, shm::kLayoutMajor, shm::kLayoutMinor));
  }
  return fail(ErrorCode::kBadSegment, what);
}

}  // namespace

bool read_whole(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  // Tries, because a lack of the kernel, above all of memory, may be over in a moment.
  constexpr int kTries = 3;
  auto read = os::read_at(fd, offset, bytes);
  for (int i = 1; i < kTries && !read; ++i) read = os::read_at(fd, offset, bytes);
  return read && *read == bytes.size();
}

std::uint32_t home_capacity(int fd, const ReadWhole& read) {
  std::uint32_t capacity = 0;
  const std::uint64_t offset = sizeof(shm::SegmentHeader) + offsetof(shm::HomeControl, capacity);
  if (!read(fd, offset, std::as_writable_bytes(std::span(&capacity, 1)))) return 0;
  const shm::HomeOptions options{.capacity = capacity};
  return shm::home_error(options) == nullptr ? capacity : 0;
}

Result<void> check_home(int fd, Pid pid, shm::Incarnation incarnation) {
  const std::uint32_t capacity = home_capacity(fd);
  if (capacity == 0) return fail(ErrorCode::kBadSegment, "a home without a legal inbox capacity");
  return check_segment(fd, shm::home_identity(capacity, pid, incarnation), shm::kPage);
}

Result<void> check_link(int fd, const shm::LinkContract& contract, Pid owner, Pid reader,
                        const shm::LinkKey& key) {
  return check_segment(fd, shm::link_identity(contract, owner, reader, key),
                       shm::LinkLayout(contract).first_extent);
}

Result<void> check_history(int fd, Pid pid, shm::Incarnation incarnation) {
  return check_segment(fd, shm::history_identity(pid, incarnation),
                       shm::HistoryLayout::kFirstExtent);
}

Result<os::Mapping> map_status(int fd, Pid pid, shm::Incarnation incarnation) {
  const shm::SegmentIdentity promised{
      shm::SegmentKind::kStatus, shm::kStatusBytes, pid, 0, incarnation, 0};
  if (auto good = check_segment(fd, promised, shm::kStatusBytes); !good) {
    return tl::unexpected(std::move(good.error()));
  }
  return os::Mapping::map_readable(fd, shm::kStatusBytes);
}

}  // namespace beeline::control
