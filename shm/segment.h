#pragma once
// The first 512 bytes of every segment.
//
//   +--------+---------+--------+------+-------+-------------+----------------------+
//   | magic  | version | kind   | size | owner | ready (last)| sections[16]         |
//   +--------+---------+--------+------+-------+-------------+----------------------+
//
// Written by: the owner of the segment, once, before the segment leaves its process; `ready` is
// stored last. In a home that takes over from a predecessor `ready` stays 0 until the copy is
// complete. Read by: each process that maps the segment and by tools. A process compares the header
// with the contract that it was given and trusts it no further; tools take the geometry from here.
// Zero means: not created, not ready, no section.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shm/atomic.h"
#include "shm/check.h"
#include "shm/ids.h"

namespace beeline::shm {

inline constexpr std::size_t kCacheLine = 64;  // frozen: part of the layout, not of the machine
inline constexpr std::size_t kLinePair = 128;  // the unit that the adjacent-line prefetcher moves
inline constexpr std::uint64_t kPage = 4096;

inline constexpr std::uint64_t kMagic = 0x31454e494c454542;  // "BEELINE1" in memory
inline constexpr std::uint16_t kLayoutMajor = 1;             // differs: refuse
inline constexpr std::uint16_t kLayoutMinor = 2;             // differs: refuse

enum class SegmentKind : std::uint32_t {
  kNone = 0,
  kHome = 1,
  kStatus = 2,
  kLink = 3,
  kDirectory = 4,
  kHistory = 5
};

enum class SectionKind : std::uint32_t {
  kNone = 0,
  kControl = 1,       // link, home, directory: the words of the owner
  kReceipts = 2,      // link: banks
  kUrgentLane = 3,    // link
  kNormalLane = 4,    // link
  kStrings = 5,       // link
  kStamps = 6,        // link: one row of words for each bank
  kSlabs = 7,         // link: one section for each size class
  kRows = 8,          // home: one for each in-link
  kEntries = 9,       // home: inbox table
  kRun = 10,          // home: sorted run of the index
  kHeap = 11,         // home: heap of the index
  kSleep = 12,        // status
  kAgentWords = 13,   // directory
  kRecords = 14,      // directory: two buffers
  kPackets = 15,      // directory: packet counts of each agent
  kHistoryRows = 16,  // history: two rings
  kPreviews = 17,     // history: two areas
};

struct Section {
  std::uint32_t kind;    // SectionKind
  std::uint32_t stride;  // bytes of one element
  std::uint64_t offset;  // bytes from the start of the segment
  std::uint64_t count;   // elements
};
static_assert(sizeof(Section) == 24);
static_assert(offsetof(Section, offset) == 8);
static_assert(offsetof(Section, count) == 16);

inline constexpr std::size_t kMaxSections = 16;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint16_t layout_major;
  std::uint16_t layout_minor;
  std::uint32_t kind;  // SegmentKind
  std::uint64_t size_bytes;
  std::uint32_t owner_pid;
  std::uint32_t peer_pid;  // link: its reader; otherwise 0
  std::uint64_t owner_incarnation;
  std::uint32_t serial;  // link: number among the links of its owner; otherwise 0
  std::uint32_t section_count;
  Atomic<std::uint64_t> ready;  // 1 when complete; stored last
  std::uint64_t reserved[9];
  Section sections[kMaxSections];
};
// 512 bytes, so that the rest of the first page starts on a line pair of its own.
static_assert(sizeof(SegmentHeader) == 512);
static_assert(offsetof(SegmentHeader, layout_major) == 8);
static_assert(offsetof(SegmentHeader, kind) == 12);
static_assert(offsetof(SegmentHeader, size_bytes) == 16);
static_assert(offsetof(SegmentHeader, owner_pid) == 24);
static_assert(offsetof(SegmentHeader, owner_incarnation) == 32);
static_assert(offsetof(SegmentHeader, serial) == 40);
static_assert(offsetof(SegmentHeader, ready) == 48);
static_assert(offsetof(SegmentHeader, sections) == 128);

// The identity that the holder of a segment was promised.
struct SegmentIdentity {
  SegmentKind kind = SegmentKind::kNone;
  std::uint64_t size_bytes = 0;
  std::uint32_t owner_pid = 0;
  std::uint32_t peer_pid = 0;
  Incarnation owner_incarnation{};
  std::uint32_t serial = 0;
};

enum class HeaderVerdict : std::uint32_t {
  kOk = 0,
  kTooShort,
  kNoMagic,
  kForeignVersion,
  kWrongKind,
  kWrongSize,
  kWrongOwner,
  kNotReady,
};

[[nodiscard]] constexpr std::string_view to_string(HeaderVerdict verdict) {
  switch (verdict) {
    case HeaderVerdict::kOk:
      return "ok";
    case HeaderVerdict::kTooShort:
      return "shorter than a segment header";
    case HeaderVerdict::kNoMagic:
      return "no Beeline segment (magic differs)";
    case HeaderVerdict::kForeignVersion:
      return "layout version differs";
    case HeaderVerdict::kWrongKind:
      return "kind of segment differs";
    case HeaderVerdict::kWrongSize:
      return "size differs from the agreed one";
    case HeaderVerdict::kWrongOwner:
      return "owner differs from the agreed one";
    case HeaderVerdict::kNotReady:
      return "not ready";
  }
  return "unknown verdict";
}

[[nodiscard]] constexpr std::string_view to_string(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kNone:
      return "none";
    case SegmentKind::kHome:
      return "home";
    case SegmentKind::kStatus:
      return "status";
    case SegmentKind::kLink:
      return "link";
    case SegmentKind::kDirectory:
      return "directory";
    case SegmentKind::kHistory:
      return "history";
  }
  return "unknown";
}

// Fills everything but `ready`, in zeroed memory.
inline void init_header(SegmentHeader& header, const SegmentIdentity& identity) {
  BEELINE_CHECK(header.magic == 0 && header.section_count == 0, header.magic, header.section_count);
  header.magic = kMagic;
  header.layout_major = kLayoutMajor;
  header.layout_minor = kLayoutMinor;
  header.kind = static_cast<std::uint32_t>(identity.kind);
  header.size_bytes = identity.size_bytes;
  header.owner_pid = identity.owner_pid;
  header.peer_pid = identity.peer_pid;
  header.owner_incarnation = identity.owner_incarnation.value();
  header.serial = identity.serial;
}

inline void add_section(SegmentHeader& header, SectionKind kind, std::uint64_t offset,
                        std::uint64_t count, std::uint32_t stride) {
  BEELINE_CHECK(header.section_count < kMaxSections, header.section_count);
  header.sections[header.section_count++] =
      Section{static_cast<std::uint32_t>(kind), stride, offset, count};
}

// Compares a header with the promised identity. Uses no field except for this comparison.
[[nodiscard]] inline HeaderVerdict check_header(const SegmentHeader& header,
                                                std::uint64_t mapped_bytes,
                                                const SegmentIdentity& promised) {
  if (mapped_bytes < sizeof(SegmentHeader)) return HeaderVerdict::kTooShort;
  if (header.magic != kMagic) return HeaderVerdict::kNoMagic;
  if (header.layout_major != kLayoutMajor || header.layout_minor != kLayoutMinor) {
    return HeaderVerdict::kForeignVersion;
  }
  if (header.kind != static_cast<std::uint32_t>(promised.kind)) return HeaderVerdict::kWrongKind;
  if (header.size_bytes != promised.size_bytes || promised.size_bytes != mapped_bytes) {
    return HeaderVerdict::kWrongSize;
  }
  if (header.owner_pid != promised.owner_pid || header.peer_pid != promised.peer_pid ||
      header.owner_incarnation != promised.owner_incarnation.value() ||
      header.serial != promised.serial) {
    return HeaderVerdict::kWrongOwner;
  }
  return HeaderVerdict::kOk;
}

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace beeline::shm
