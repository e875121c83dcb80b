#include "src/segment/owned.h"

#include <utility>

#include "shm/check.h"
#include "shm/segment.h"

namespace beeline::segment {

Result<Owned> Owned::create(const std::string& name, std::uint64_t length_bytes,
                            std::uint64_t first_bytes, std::vector<os::Extent> parts,
                            os::Growth growth) {
  Owned owned;
  owned.growth_ = growth;
  auto fd = os::create_memfd(name, length_bytes);
  if (!fd) return tl::unexpected(fd.error());
  owned.fd_ = std::move(*fd);
  if (auto done = owned.allocate(0, first_bytes); !done) return tl::unexpected(done.error());
  auto mapping = os::Mapping::map_parts_writable(owned.fd(), parts);
  if (!mapping) return tl::unexpected(mapping.error());
  owned.mapping_ = std::move(*mapping);
  owned.parts_ = std::move(parts);
  if (auto done = os::seal(owned.fd(), growth); !done) return tl::unexpected(done.error());
  return owned;
}

Result<Owned> Owned::create(const std::string& name, std::uint64_t size_bytes,
                            std::uint64_t first_bytes) {
  return create(name, size_bytes, first_bytes, {{0, size_bytes}}, os::Growth::kNone);
}

Result<Owned> Owned::create_link(const std::string& name, const shm::LinkLayout& layout) {
  std::vector<os::Extent> parts{{0, layout.first_part()}};
  for (std::size_t i = 0; i < shm::kSlabClasses; ++i) {
    if (layout.classes[i].count != 0) parts.push_back({layout.slabs[i], shm::kPage});
  }
  return create(name, layout.first_extent, layout.first_extent, std::move(parts),
                os::Growth::kAllowed);
}

Result<void> Owned::allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) const {
  const std::uint64_t start = offset_bytes / shm::kPage * shm::kPage;
  const std::uint64_t end = shm::round_up(offset_bytes + length_bytes, shm::kPage);
  return os::allocate(fd(), {start, end - start}, growth_);
}

Result<void> Owned::open_window(shm::Link& view, shm::SlabIndex slab) {
  BEELINE_CHECK(view.base() == data(), view.base(), data());
  const shm::Window window = view.layout().window_of(slab);
  if (view.window(window.number) != nullptr) return {};
  const os::Extent extent{window.offset, shm::round_up(window.bytes, shm::kPage)};
  auto mapping = map_window(extent);
  if (!mapping) return tl::unexpected(mapping.error());
  view.show_window(window.number, mapping->data());
  // SUBTLE: a fork in another thread may read it meanwhile, so the vector must never move.
  if (windows_.empty()) windows_.reserve(shm::kMaxWindows);
  windows_.push_back({extent, std::move(*mapping)});
  return {};
}

// Duplicates the last page of the window before it, or else the first page of its class.
Result<os::Mapping> Owned::map_window(const os::Extent& extent) const {
  for (const MappedWindow& before : windows_) {
    if (before.extent.offset_bytes + before.extent.length_bytes != extent.offset_bytes) continue;
    return before.mapping.duplicate(before.mapping.size() - shm::kPage, shm::kPage,
                                    extent.length_bytes);
  }
  std::uint64_t at = 0;
  std::uint64_t found = 0;
  std::uint64_t skip = 0;
  for (const os::Extent& part : parts_) {
    if (part.offset_bytes <= extent.offset_bytes) {
      found = at;
      skip = extent.offset_bytes - part.offset_bytes;
    }
    at += part.length_bytes;
  }
  return mapping_.duplicate(found, skip, extent.length_bytes);
}

void Owned::hold_addresses_in_child() const noexcept {
  mapping_.hold_addresses_in_child();
  for (const MappedWindow& window : windows_) window.mapping.hold_addresses_in_child();
}

}  // namespace beeline::segment
