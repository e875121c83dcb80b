#include "src/look/dead_payload.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <beeline/types.h>

#include "src/control/hive_paths.h"
#include "src/look/inbox_segments.h"
#include "src/look/keeper_sight.h"
#include "src/os/memfd.h"

namespace beeline::look {
namespace {

tl::unexpected<Error> no_letter(std::uint32_t pid, std::uint64_t id) {
  return fail(ErrorCode::kInvalid,
              fmt::format("message {} is no dead letter of pid {}, or not any more: see `beeline "
                          "dlq ls`",
                          id_text(id), pid));
}

// The offset of a slab in its link; nothing if no payload of this length can lie there.
std::optional<std::uint64_t> slab_place(const Segment* link, const shm::MessageHeader& header) {
  if (link == nullptr) return std::nullopt;
  const shm::LinkLayout layout(shm::contract_of(link->view()));
  if (header.slab >= layout.total_slabs()) return std::nullopt;
  const std::uint64_t at = layout.slab_offset(shm::slab_of(header));
  if (header.length > layout.bytes - at) return std::nullopt;
  return at;
}

Result<std::string> read_bytes(const Source& source, std::uint64_t at, std::size_t length) {
  const auto fd = open_source(source);
  if (!fd) return tl::unexpected(fd.error());
  std::string bytes(length, '\0');
  const auto read = os::read_at(fd->get(), at, std::as_writable_bytes(std::span(bytes)));
  if (!read) return tl::unexpected(read.error());
  bytes.resize(*read);
  return bytes;
}

}  // namespace

Result<std::string> read_dead_payload(std::string_view hive, std::uint32_t pid, std::uint64_t id) {
  const auto segments = InboxSegments::load(hive, pid);
  if (!segments) return tl::unexpected(segments.error());
  const Segment* home = segments->home();
  if (home == nullptr) {
    const auto paths = control::find_hive(hive);
    return tl::unexpected(segments->why_no_home(paths ? why_keeper_is_hidden(*paths) : ""));
  }
  const shm::ByteView view = home->view();
  const shm::HomeShape shape(shm::capacity_of(view));
  const shm::EntryIndex end(shape.entries_allocated(view));
  shm::EntryIndex i(0);
  const auto is_it = [&](std::uint64_t at) {
    return shm::EntryWord::unpack(view.u64(at)).state == shm::EntryState::kDead &&
           view.u64(at + offsetof(shm::Entry, header)) == id;
  };
  while (i < end && !is_it(shape.entry_at(i))) ++i;
  if (i == end) return no_letter(pid, id);
  const std::uint64_t at = shape.entry_at(i);
  const auto header = view.load<shm::MessageHeader>(at + offsetof(shm::Entry, header));
  if ((header.flags & shm::kFlagSlab) == 0) {
    const auto area = view.part(at + offsetof(shm::Entry, payload) + shm::extension_bytes(header),
                                std::min<std::uint64_t>(header.length, shm::inline_room(header)));
    return std::string(reinterpret_cast<const char*>(area.data()), area.size());
  }
  const Segment* link =
      link_of_row(segments->all(), *home, shm::EntryWord::unpack(view.u64(at)).row);
  const auto place = slab_place(link, header);
  if (!place) {
    return fail(ErrorCode::kBadSegment,
                fmt::format("dead letter {} of pid {}: slab {} of {} bytes is in no link of the "
                            "hive; see `shm-dump --verify`",
                            id_text(id), pid, header.slab, header.length));
  }
  auto payload = read_bytes(link->source, *place, header.length);
  if (!payload) return payload;
  // No slab is written anew while the letter is there.
  const auto now = read_bytes(home->source, at, offsetof(shm::Entry, arrival));
  if (!now) return now;
  if (std::memcmp(now->data(), view.part(at, now->size()).data(), now->size()) != 0) {
    return no_letter(pid, id);
  }
  return payload;
}

}  // namespace beeline::look
