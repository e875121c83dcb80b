#include "src/segment/owned.h"

#include "shm/segment.h"

namespace beeline::segment {

Result<Owned> Owned::create(const std::string& name, std::uint64_t size_bytes,
                            std::uint64_t first_bytes) {
  Owned owned;
  auto fd = os::create_memfd(name, size_bytes);
  if (!fd) return tl::unexpected(fd.error());
  owned.fd_ = std::move(*fd);
  if (auto done = os::allocate(owned.fd(), {0, shm::round_up(first_bytes, shm::kPage)}); !done) {
    return tl::unexpected(done.error());
  }
  auto mapping = os::Mapping::map_writable(owned.fd(), size_bytes);
  if (!mapping) return tl::unexpected(mapping.error());
  owned.mapping_ = std::move(*mapping);
  if (auto done = os::seal(owned.fd()); !done) return tl::unexpected(done.error());
  return owned;
}

Result<void> Owned::allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) const {
  const std::uint64_t start = offset_bytes / shm::kPage * shm::kPage;
  const std::uint64_t end = shm::round_up(offset_bytes + length_bytes, shm::kPage);
  return os::allocate(fd(), {start, end - start});
}

}  // namespace beeline::segment
