#include "src/segment/foreign.h"

#include <algorithm>
#include <string>

#include "shm/check.h"
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
  return accept(std::move(fd), promised, first_bytes, promised.size_bytes, os::Growth::kNone);
}

Result<Foreign> Foreign::accept_link(os::UniqueFd&& fd, const shm::LinkContract& contract,
                                     std::uint32_t owner, std::uint32_t peer,
                                     const shm::LinkKey& key) {
  const shm::LinkLayout layout(contract);
  return accept(std::move(fd), shm::link_identity(contract, owner, peer, key), layout.first_extent,
                layout.first_part(), os::Growth::kAllowed);
}

Result<Foreign> Foreign::accept(os::UniqueFd&& fd, const shm::SegmentIdentity& promised,
                                std::uint64_t first_bytes, std::uint64_t mapped_bytes,
                                os::Growth growth) {
  Foreign foreign;
  foreign.verified_bytes_ = shm::round_up(first_bytes, shm::kPage);
  const bool grows = growth == os::Growth::kAllowed;
  if (auto ok = os::check_foreign(fd.get(), grows ? foreign.verified_bytes_ : promised.size_bytes,
                                  foreign.verified_bytes_, growth);
      !ok) {
    return tl::unexpected(refusal(fd.get(), promised, ok.error()));
  }
  auto mapping = os::Mapping::map_part_readable(fd.get(), {0, mapped_bytes});
  if (!mapping) return tl::unexpected(mapping.error());
  foreign.mapping_ = std::move(*mapping);
  if (auto ok = foreign.mapping_.populate_read(0, foreign.verified_bytes_); !ok) {
    return tl::unexpected(ok.error());
  }
  const auto& header = *reinterpret_cast<const shm::SegmentHeader*>(foreign.data());
  auto verdict = shm::check_header(header, promised.size_bytes, promised);
  if (verdict == shm::HeaderVerdict::kOk && header.ready.observe() != 1) {
    verdict = shm::HeaderVerdict::kNotReady;
  }
  if (verdict != shm::HeaderVerdict::kOk)
    return tl::unexpected(describe(verdict, header, promised));
  foreign.fd_ = std::move(fd);
  return foreign;
}

Foreign::Place Foreign::find(std::uint64_t offset_bytes) const {
  if (offset_bytes < mapping_.size()) return {&mapping_, offset_bytes};
  for (const MappedWindow& window : windows_) {
    const os::Extent& extent = window.extent;
    if (offset_bytes < extent.offset_bytes) continue;
    const std::uint64_t at = offset_bytes - extent.offset_bytes;
    if (at < extent.length_bytes) return {&window.mapping, at};
  }
  return {};
}

Result<void> Foreign::verify(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  const std::uint64_t start = offset_bytes / shm::kPage * shm::kPage;
  const Place place = find(start);
  const std::uint64_t room = place.mapping == nullptr ? 0 : place.mapping->size();
  const std::uint64_t end = std::min(shm::round_up(offset_bytes + length_bytes, shm::kPage),
                                     start - place.offset_bytes + room);
  auto size = os::file_size(fd());
  if (!size) return tl::unexpected(size.error());
  if (start >= end || size->length_bytes < end ||
      size->allocated_bytes < verified_bytes_ + (end - start)) {
    return fail(ErrorCode::kBadSegment,
                "segment announces bytes " + std::to_string(start) + " to " + std::to_string(end) +
                    " but is " + std::to_string(size->length_bytes) + " bytes long, of which " +
                    std::to_string(size->allocated_bytes) + " are allocated and " +
                    std::to_string(verified_bytes_) + " were known");
  }
  if (auto ok = place.mapping->populate_read(place.offset_bytes, end - start); !ok) return ok;
  verified_bytes_ += end - start;
  return {};
}

Result<void> Foreign::open_window(shm::LinkView& view, shm::SlabIndex slab) {
  BEELINE_CHECK(view.base() == data(), view.base(), data());
  const shm::Window window = view.layout().window_of(slab);
  if (view.window(window.number) != nullptr) return {};
  const os::Extent extent{window.offset, shm::round_up(window.bytes, shm::kPage)};
  auto mapping = os::Mapping::map_part_readable(fd(), extent);
  if (!mapping) return tl::unexpected(mapping.error());
  view.show_window(window.number, mapping->data());
  windows_.push_back({extent, std::move(*mapping)});
  return {};
}

}  // namespace beeline::segment
