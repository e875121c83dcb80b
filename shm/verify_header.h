#pragma once
// Shared by all invariant walkers: names for broken invariants, and the checks of the header and
// the sections.
//
// A walker judges the copy of ONE segment. It never reads outside of the copy and never believes a
// count before comparing it with a limit. The limits of the layout bound its work, whatever the
// bytes say.

#include <array>
#include <optional>

#include "shm/byte_view.h"
#include "shm/check.h"
#include "shm/directory.h"
#include "shm/history.h"
#include "shm/home.h"
#include "shm/status.h"

namespace beeline::shm {

// One broken invariant. All texts are static.
struct Broken {
  const char* invariant = nullptr;  // its name, for example "lane.commit.place"
  std::uint64_t where = 0;          // offset in the segment of the word that breaks it
  std::uint64_t found = 0;          // the value of that word, or a value that follows from it
  std::uint64_t limit = 0;          // the largest legal value, or the only one
};

// Nothing when every checked invariant holds.
using Finding = std::optional<Broken>;

// When the copy was taken; it decides how much a running or killed owner may have left undone.
//   kAfterDeath  the owner is gone, perhaps killed at any instruction: everything that a successor
//                relies on must hold. The order index is judged for its bounds only, because a
//                successor rebuilds it.
//   kAtRest      the owner was in none of its operations: the index must match the entries as well.
//   kWhileLive   the owner was running and the copy is not of one instant: only invariants that no
//                interleaving can break. A word may still be torn: believe a finding when several
//                copies agree on it.
enum class Taken : std::uint32_t { kAfterDeath = 0, kAtRest = 1, kWhileLive = 2 };

inline constexpr std::uint64_t kMaxPosition = 1ULL
                                              << 56;  // of a lane: 90 years at 25 million a second

[[nodiscard]] inline Finding broken(const char* invariant, std::uint64_t where, std::uint64_t found,
                                    std::uint64_t limit) {
  return Broken{invariant, where, found, limit};
}
[[nodiscard]] inline Finding at_most(const char* invariant, std::uint64_t where,
                                     std::uint64_t found, std::uint64_t limit) {
  return found > limit ? broken(invariant, where, found, limit) : std::nullopt;
}
[[nodiscard]] inline Finding equal(const char* invariant, std::uint64_t where, std::uint64_t found,
                                   std::uint64_t limit) {
  return found != limit ? broken(invariant, where, found, limit) : std::nullopt;
}
// `found` must lie between 1 and the limit.
[[nodiscard]] inline Finding named(const char* invariant, std::uint64_t where, std::uint64_t found,
                                   std::uint64_t limit) {
  return found == 0 ? broken(invariant, where, found, limit)
                    : at_most(invariant, where, found, limit);
}
// Reserved bytes, whole words, are zero.
[[nodiscard]] inline Finding all_zero(const char* invariant, ByteView bytes, std::uint64_t from,
                                      std::uint64_t length) {
  BEELINE_CHECK(from % 8 == 0 && length % 8 == 0, from, length);
  for (std::uint64_t at = from; at < from + length; at += 8) {
    if (auto finding = equal(invariant, at, bytes.u64(at), 0)) return finding;
  }
  return std::nullopt;
}

[[nodiscard]] inline constexpr std::uint64_t section_at(std::uint64_t index) {
  return offsetof(SegmentHeader, sections) + index * sizeof(Section);
}

// The layout version as one number: major << 16 | minor.
[[nodiscard]] inline constexpr std::uint64_t version_number(std::uint16_t major,
                                                            std::uint16_t minor) {
  return static_cast<std::uint64_t>(major) << 16 | minor;
}

[[nodiscard]] inline SegmentKind kind_of(ByteView bytes) {
  return static_cast<SegmentKind>(bytes.u32(offsetof(SegmentHeader, kind)));
}

// The first section of a kind according to the header, with count 0 when there is none.
[[nodiscard]] inline Section find_section(ByteView bytes, SectionKind kind) {
  for (std::uint64_t i = 0; i < kMaxSections; ++i) {
    const auto section = bytes.load<Section>(section_at(i));
    if (section.kind == static_cast<std::uint32_t>(kind)) return section;
  }
  return {};
}

// The contract that follows from the sections of a link. It may be illegal: see contract_error().
// The largest payload comes out rounded up to a page. That changes nothing in the layout, because
// slabs of the last class are a page larger.
[[nodiscard]] inline LinkContract contract_of(ByteView bytes) {
  LinkContract contract;
  const auto narrow = [](std::uint64_t count) {
    return count <= kMaxLaneSlots ? static_cast<std::uint32_t>(count) : 0;
  };
  contract.normal_slots = narrow(find_section(bytes, SectionKind::kNormalLane).count);
  contract.urgent_slots = narrow(find_section(bytes, SectionKind::kUrgentLane).count);
  contract.max_payload_bytes = 0;
  for (std::uint64_t i = 0; i < kMaxSections; ++i) {
    const auto section = bytes.load<Section>(section_at(i));
    if (section.kind == static_cast<std::uint32_t>(SectionKind::kSlabs)) {
      contract.max_payload_bytes = section.stride - std::uint64_t{kPage};
    }
  }
  return contract;
}

// The inbox capacity that follows from the sections of a home. It may be illegal: see home_error().
[[nodiscard]] inline std::uint32_t capacity_of(ByteView bytes) {
  const std::uint64_t count = find_section(bytes, SectionKind::kEntries).count;
  return count <= kMaxEntries ? static_cast<std::uint32_t>(count) : 0;
}

// The first page of a segment as its owner makes it, filled by the owner's own functions.
class ExpectedPage {
 public:
  void make_link(const LinkContract& contract) {
    init_link(Link(page_, contract), link_identity(contract, 0, 0, {}));
  }
  void make_home(std::uint32_t capacity) {
    HomeOptions options;
    options.capacity = capacity;
    init_home(Home(page_, capacity), options, 0, kNoIncarnation);
  }
  void make_status() { init_status(*reinterpret_cast<StatusPage*>(page_), 0, kNoIncarnation); }
  void make_directory() { DirectoryWriter(page_, 1, kDefaultMaxPayload, 0); }
  void make_history() { init_history(page_, {}, 0, kNoIncarnation); }

  [[nodiscard]] ByteView bytes() const { return ByteView(std::span(page_)); }

 private:
  alignas(kPage) std::byte page_[kPage]{};
};

// Magic, version, kind, and the length: the copy is as long as the header says.
[[nodiscard]] inline Finding verify_identity(ByteView bytes) {
  if (bytes.size() < sizeof(SegmentHeader)) {
    return broken("segment.header", bytes.size(), bytes.size(), sizeof(SegmentHeader));
  }
  if (auto finding = equal("header.magic", 0, bytes.u64(0), kMagic)) return finding;
  const std::uint64_t version = version_number(bytes.u16(offsetof(SegmentHeader, layout_major)),
                                               bytes.u16(offsetof(SegmentHeader, layout_minor)));
  if (auto finding = equal("header.version", offsetof(SegmentHeader, layout_major), version,
                           version_number(kLayoutMajor, kLayoutMinor))) {
    return finding;
  }
  if (auto finding = named("header.kind", offsetof(SegmentHeader, kind),
                           bytes.u32(offsetof(SegmentHeader, kind)),
                           static_cast<std::uint64_t>(SegmentKind::kHistory))) {
    return finding;
  }
  return equal("segment.size", bytes.size(), bytes.size(),
               bytes.u64(offsetof(SegmentHeader, size_bytes)));
}

// The owner and the reader.
[[nodiscard]] inline Finding verify_owner(ByteView bytes) {
  const bool is_link = kind_of(bytes) == SegmentKind::kLink;
  constexpr std::uint64_t kPeer = offsetof(SegmentHeader, peer_pid);
  constexpr std::uint64_t kSerial = offsetof(SegmentHeader, serial);
  constexpr std::uint64_t kLife = offsetof(SegmentHeader, owner_incarnation);
  constexpr std::uint64_t kOwner = offsetof(SegmentHeader, owner_pid);
  constexpr std::uint64_t kReady = offsetof(SegmentHeader, ready);
  constexpr std::uint64_t kReserved = offsetof(SegmentHeader, reserved);
  if (auto finding = named("header.owner", kOwner, bytes.u32(kOwner), kMaxPid)) return finding;
  if (auto finding = is_link ? named("header.peer", kPeer, bytes.u32(kPeer), kMaxPid)
                             : equal("header.peer", kPeer, bytes.u32(kPeer), 0)) {
    return finding;
  }
  if (auto finding = named("header.incarnation", kLife, bytes.u64(kLife), kMaxIncarnation)) {
    return finding;
  }
  if (!is_link) {
    if (auto finding = equal("header.serial", kSerial, bytes.u32(kSerial), 0)) return finding;
  }
  if (auto finding = at_most("header.ready", kReady, bytes.u64(kReady), 1)) return finding;
  return all_zero("header.reserved", bytes, kReserved, sizeof(SegmentHeader::reserved));
}

// Each section lies inside and no two share a byte, whatever the layout.
[[nodiscard]] inline Finding verify_sections(ByteView bytes) {
  constexpr std::uint64_t kCount = offsetof(SegmentHeader, section_count);
  const std::uint32_t count = bytes.u32(kCount);
  if (auto finding = named("header.section_count", kCount, count, kMaxSections)) return finding;
  const auto length = [](const Section& section) { return section.count * section.stride; };
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto section = bytes.load<Section>(section_at(i));
    const std::uint64_t where = section_at(i) + offsetof(Section, offset);
    if (section.offset > bytes.size()) {
      return broken("section.bounds", where, section.offset, bytes.size());
    }
    const std::uint64_t room = bytes.size() - section.offset;
    if (section.stride != 0 && section.count > room / section.stride) {
      return broken("section.bounds", section_at(i) + offsetof(Section, count), section.count,
                    room / section.stride);
    }
    for (std::uint32_t k = 0; k < i; ++k) {
      const auto other = bytes.load<Section>(section_at(k));
      if (length(section) == 0 || length(other) == 0) continue;
      if (section.offset < other.offset + length(other) &&
          other.offset < section.offset + length(section)) {
        return broken("section.overlap", where, section.offset, other.offset + length(other));
      }
    }
  }
  return std::nullopt;
}

// The sections and the size are exactly those that an owner makes.
[[nodiscard]] inline Finding verify_geometry(ByteView bytes, const ExpectedPage& expected) {
  const ByteView wanted = expected.bytes();
  constexpr std::uint64_t kSize = offsetof(SegmentHeader, size_bytes);
  constexpr std::uint64_t kCount = offsetof(SegmentHeader, section_count);
  if (auto finding = equal("section.layout", kCount, bytes.u32(kCount), wanted.u32(kCount))) {
    return finding;
  }
  for (std::uint64_t at = section_at(0); at < section_at(kMaxSections); at += 8) {
    if (auto finding = equal("section.layout", at, bytes.u64(at), wanted.u64(at))) return finding;
  }
  return equal("header.size", kSize, bytes.u64(kSize), wanted.u64(kSize));
}

// Everything in the header. After it the geometry of the segment is known and lies inside the copy.
[[nodiscard]] inline Finding verify_header(ByteView bytes) {
  if (auto finding = verify_identity(bytes)) return finding;
  if (auto finding = verify_owner(bytes)) return finding;
  if (auto finding = verify_sections(bytes)) return finding;
  ExpectedPage expected;
  switch (kind_of(bytes)) {  // NEVER: verify_identity() lets no other kind pass
    case SegmentKind::kLink: {
      const LinkContract contract = contract_of(bytes);
      if (contract_error(contract) != nullptr) {
        return broken("link.contract", offsetof(SegmentHeader, sections),
                      contract.max_payload_bytes, kMaxMaxPayload);
      }
      expected.make_link(contract);
      break;
    }
    case SegmentKind::kHome: {
      HomeOptions options;
      options.capacity = capacity_of(bytes);
      if (home_error(options) != nullptr) {
        return broken("home.capacity", offsetof(SegmentHeader, sections), options.capacity,
                      kMaxEntries);
      }
      expected.make_home(options.capacity);
      break;
    }
    case SegmentKind::kStatus:
      expected.make_status();
      break;
    case SegmentKind::kDirectory:
      expected.make_directory();
      break;
    case SegmentKind::kHistory:
      expected.make_history();
      break;
    case SegmentKind::kNone:  // NEVER: verify_identity() lets no other kind pass
      return broken("header.kind", offsetof(SegmentHeader, kind), 0, 5);
  }
  return verify_geometry(bytes, expected);
}

}  // namespace beeline::shm
