#include "src/segment/foreign.h"

#include <algorithm>
#include <string>

#include "src/os/memfd.h"

namespace beeline::segment {

namespace {

Error describe(shm::HeaderVerdict verdict, const shm::SegmentHeader& header,
               const shm::SegmentIdentity& promised) {
  std::string text = "segment (" + std::string(shm::to_string(promised.kind)) + " of agent " +
                     std::to_string(promised.owner_pid) +
                     "): " + std::string(shm::to_string(verdict));
  if (verdict == shm::HeaderVerdict::kForeignVersion) {
    text += ": it has layout " + std::to_string(header.layout_major) + "." +
            std::to_string(header.layout_minor) + ", this library speaks " +
            std::to_string(shm::kLayoutMajor) + "." + std::to_string(shm::kLayoutMinor) +
            "; run both sides with the same version of Beeline";
    return {ErrorCode::kWrongVersion, 0, std::move(text)};
  }
  return {ErrorCode::kBadSegment, 0, std::move(text)};
}

bool has_other_version(const shm::SegmentHeader& header) {
  return header.magic == shm::kMagic &&
         (header.layout_major != shm::kLayoutMajor || header.layout_minor != shm::kLayoutMinor);
}

}  // namespace

Error refusal(int fd, const shm::SegmentIdentity& promised, Error error) {
  shm::SegmentHeader header{};
  const auto done = os::read_at(fd, 0, std::as_writable_bytes(std::span(&header, 1)));
  if (!done || *done != sizeof(header) || !has_other_version(header)) return error;
  return describe(shm::HeaderVerdict::kForeignVersion, header, promised);
}

Result<Foreign> Foreign::accept(os::UniqueFd&& fd, const shm::SegmentIdentity& promised,
                                std::uint64_t first_bytes) {
  Foreign foreign;
  foreign.verified_bytes_ = shm::round_up(first_bytes, shm::kPage);
  if (auto ok = os::check_foreign(fd.get(), promised.size_bytes, foreign.verified_bytes_); !ok) {
    return tl::unexpected(refusal(fd.get(), promised, ok.error()));
  }
  auto mapping = os::Mapping::map_readable(fd.get(), promised.size_bytes);
  if (!mapping) return tl::unexpected(mapping.error());
  foreign.mapping_ = std::move(*mapping);
  if (auto ok = foreign.mapping_.populate_read(0, foreign.verified_bytes_); !ok) {
    return tl::unexpected(ok.error());
  }
  const auto& header = *reinterpret_cast<const shm::SegmentHeader*>(foreign.data());
  auto verdict = shm::check_header(header, foreign.size(), promised);
  if (verdict == shm::HeaderVerdict::kOk && header.ready.observe() != 1) {
    verdict = shm::HeaderVerdict::kNotReady;
  }
  if (verdict != shm::HeaderVerdict::kOk)
    return tl::unexpected(describe(verdict, header, promised));
  foreign.fd_ = std::move(fd);
  return foreign;
}

Result<void> Foreign::verify(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  const std::uint64_t start = offset_bytes / shm::kPage * shm::kPage;
  const std::uint64_t end =
      std::min(shm::round_up(offset_bytes + length_bytes, shm::kPage), size());
  auto allocated = os::allocated_bytes(fd());
  if (!allocated) return tl::unexpected(allocated.error());
  if (start >= end || *allocated < verified_bytes_ + (end - start)) {
    return fail(ErrorCode::kBadSegment, "segment announces bytes " + std::to_string(start) +
                                            " to " + std::to_string(end) + " but has only " +
                                            std::to_string(*allocated) + " allocated, " +
                                            std::to_string(verified_bytes_) + " of them known");
  }
  if (auto ok = mapping_.populate_read(start, end - start); !ok) return ok;
  verified_bytes_ += end - start;
  return {};
}

}  // namespace beeline::segment
