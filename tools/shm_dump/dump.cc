#include "tools/shm_dump/dump.h"

#include <string_view>

#include <fmt/format.h>

#include "src/look/escape.h"
#include "src/look/segment_name.h"

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
  out["incarnation"] = segment.incarnation().value();
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

// A violation that this copy and every later one show alike.
shm::Finding judge_again(const Segment& segment, bool at_rest) {
  constexpr int kLooks = 8;
  auto finding = judge(segment, at_rest);
  if (!segment.live || segment.source.saved) return finding;
  for (int i = 1; i < kLooks && finding; ++i) {
    auto again = load_segment(segment.source);
    // The holder of the segment has ended: the first copy is all that there is.
    if (!again) break;
    const auto second = judge(*again, at_rest);
    if (!second || !agree(*finding, *second)) return std::nullopt;
  }
  return finding;
}

// Counts the messages of a link that were not taken, or the messages of a home that wait or are in
// hand. Only the home that counts for its agent has any.
void add_counts(const Segment& segment, const Segments& all, Json& out) {
  out["live_count"] = nullptr;
  out["dead_count"] = nullptr;
  if (segment.is_sound(shm::SegmentKind::kLink)) {
    if (const auto count = count_not_taken(segment, all)) out["live_count"] = *count;
  }
  if (segment.is_sound(shm::SegmentKind::kHome) && all.find_home(segment.owner_pid()) == &segment) {
    const shm::HomeShape home(shm::capacity_of(segment.view()));
    const shm::Balance balance = shm::balance_of(segment.view(), home);
    out["live_count"] = balance.queued + balance.tasks + balance.leased;
    out["dead_count"] = balance.dead;
  }
}

}  // namespace

Json summary_of(const Segment& segment, const Segments& all) {
  Json out;
  out["name"] = escape(segment.source.name);
  out["source"] = escape(segment.source.path);
  out["live"] = all.runs(segment);
  out["segment"] = escape(short_segment_name(segment.source.name));
  const bool is_link = segment.kind() == shm::SegmentKind::kLink;
  out["owner"] = agent_text(all, segment.owner_pid());
  out["reader"] = is_link ? Json(agent_text(all, segment.peer_pid())) : Json(nullptr);
  out["in_use_bytes"] = segment.copy.allocated_bytes();
  add_counts(segment, all, out);
  Json verdict = verify(segment, false);
  out["verdict"] = verdict.at("ok")
                       ? std::string("ok")
                       : fmt::format("BROKEN {}", verdict.at("invariant").get<std::string>());
  out["verify"] = std::move(verdict);
  return out;
}

Json dump_segment(const Segment& segment, const Segments& all, Listing listing) {
  Json out = summary_of(segment, all);
  out["header"] = header_of(segment, all);
  if (segment.shape) {
    out["sections"] = sections_of(segment);
    return out;
  }
  switch (segment.kind()) {
    case shm::SegmentKind::kLink:
      dump_link(segment, all, listing, out);
      break;
    case shm::SegmentKind::kHome:
      dump_home(segment, all, listing, out);
      break;
    case shm::SegmentKind::kStatus:
      dump_status(segment, out);
      break;
    case shm::SegmentKind::kDirectory:
      dump_directory(segment, all, listing, out);
      break;
    case shm::SegmentKind::kHistory:
      dump_history(segment, out);
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
  return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} ({})", name, pid);
}

Json age_ms(const Segment& segment, std::int64_t sent_ns) {
  if (segment.now_ns == 0 || sent_ns < 0 || sent_ns > segment.now_ns) return nullptr;
  return (segment.now_ns - sent_ns) / 1'000'000;
}

Json unix_ms(std::uint64_t realtime_ns) {
  if (realtime_ns == 0) return nullptr;
  return realtime_ns / 1'000'000;
}

}  // namespace beeline::dump
