#include "src/agent/directory.h"

namespace beeline {

Result<segment::Foreign> Directory::accept(os::UniqueFd fd) {
  auto header_fd = os::duplicate(fd.get());
  if (!header_fd) return tl::unexpected(header_fd.error());
  // The agent trusts the coordinator for the epoch in the header: no message promises it.
  auto mapping = os::Mapping::map_readable(fd.get(), shm::DirectoryLayout::kBytes);
  if (!mapping) return tl::unexpected(mapping.error());
  const auto& header = *reinterpret_cast<const shm::SegmentHeader*>(mapping->data());
  const shm::SegmentIdentity promised{shm::SegmentKind::kDirectory,
                                      shm::DirectoryLayout::kBytes,
                                      1,
                                      0,
                                      shm::Incarnation(header.owner_incarnation),
                                      0};
  return segment::Foreign::accept(std::move(*header_fd), promised,
                                  shm::DirectoryLayout::kFirstExtent);
}

}  // namespace beeline
