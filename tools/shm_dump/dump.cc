#include "tools/shm_dump/dump.h"

#include <ctime>
#include <string_view>

#include <fmt/format.h>

#include "tools/shm_dump/escape.h"

namespace beeline::dump {
namespace {

Json header_of(const Segment& segment, const Segments& all) {
  const bool is_link = segment.kind() == shm::SegmentKind::kLink;
  Json out;
  out["magic"] = "BEELINE1";
  out["layout"] =
      fmt::format("{}.{}", segment.view().u16(offsetof(shm::SegmentHeader, layout_major)),
                  segment.view().u16(offsetof(shm::SegmentHeader, layout_minor)));
  out["kind"] = shm::to_string(segment.kind());
  out["owner"] = agent_text(all, segment.owner_pid());
  out["owner_pid"] = segment.owner_pid();
  out["incarnation"] = segment.incarnation();
  if (is_link) {
    out["reader"] = agent_text(all, segment.peer_pid());
    out["reader_pid"] = segment.peer_pid();
    out["serial"] = segment.serial();
  }
  out["ready"] = shm::is_ready(segment.view());
  out["size_bytes"] = segment.view().u64(offsetof(shm::SegmentHeader, size_bytes));
  out["allocated_bytes"] = segment.copy.allocated_bytes();
  return out;
}

Json sections_of(const Segment& segment) {
  Json out = Json::array();
  const std::uint32_t count = segment.view().u32(offsetof(shm::SegmentHeader, section_count));
  for (std::uint32_t i = 0; i < count && i < shm::kMaxSections; ++i) {
    const auto section = segment.view().load<shm::Section>(shm::section_at(i));
    out.push_back({{"section", i},
                   {"kind", section.kind},
                   {"offset", section.offset},
                   {"count", section.count},
                   {"stride", section.stride}});
  }
  return out;
}

shm::Finding judge(const Segment& segment, bool at_rest) {
  const shm::Taken taken = at_rest        ? shm::Taken::kAtRest
                           : segment.live ? shm::Taken::kWhileLive
                                          : shm::Taken::kAfterDeath;
  return shm::verify_segment(segment.copy.bytes(), taken);
}

bool agree(const shm::Broken& a, const shm::Broken& b) {
  return std::string_view(a.invariant) == b.invariant && a.where == b.where && a.found == b.found;
}

/// What is broken in this copy and in every later one alike.
shm::Finding judge_again(const Segment& segment, bool at_rest) {
  constexpr int kLooks = 8;
  auto finding = judge(segment, at_rest);
  if (!segment.live || segment.source.saved) return finding;
  for (int i = 1; i < kLooks && finding; ++i) {
    auto again = load_segment(segment.source);
    // Whoever held it has ended: the first copy is all that there is.
    if (!again) break;
    const auto second = judge(*again, at_rest);
    if (!second || !agree(*finding, *second)) return std::nullopt;
  }
  return finding;
}

}  // namespace

Json dump_segment(const Segment& segment, const Segments& all) {
  Json out;
  out["name"] = escape(segment.source.name);
  out["source"] = escape(segment.source.path);
  out["live"] = segment.live;
  out["header"] = header_of(segment, all);
  out["verify"] = verify(segment, false);
  if (segment.shape) {
    out["sections"] = sections_of(segment);
    return out;
  }
  switch (segment.kind()) {
    case shm::SegmentKind::kLink:
      dump_link(segment, all, out);
      break;
    case shm::SegmentKind::kHome:
      dump_home(segment, all, out);
      break;
    case shm::SegmentKind::kStatus:
      dump_status(segment, out);
      break;
    case shm::SegmentKind::kDirectory:
      dump_directory(segment, out);
      break;
    case shm::SegmentKind::kNone:
      break;
  }
  return out;
}

Json verify(const Segment& segment, bool at_rest) {
  Json out;
  out["name"] = escape(segment.source.name);
  out["kind"] = shm::to_string(segment.kind());
  const auto finding = judge_again(segment, at_rest);
  out["ok"] = !finding;
  if (!finding) return out;
  out["invariant"] = finding->invariant;
  out["where"] = finding->where;
  out["found"] = finding->found;
  out["limit"] = finding->limit;
  return out;
}

std::string agent_text(const Segments& all, std::uint32_t pid) {
  const std::string name = all.agent_name(pid);
  return name.empty() ? fmt::to_string(pid) : fmt::format("{} ({})", name, pid);
}

Json age_ms(const Segment& segment, std::int64_t sent_ns) {
  if (segment.now_ns == 0 || sent_ns < 0 || sent_ns > segment.now_ns) return nullptr;
  return (segment.now_ns - sent_ns) / 1'000'000;
}

Json time_text(std::uint64_t realtime_ns) {
  if (realtime_ns == 0) return nullptr;
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  char text[32] = {};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return nullptr;
  }
  return text;
}

}  // namespace beeline::dump
