#include "src/look/inbox_segments.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "src/control/hive_paths.h"
#include "src/control/wire.h"
#include "src/look/segment_name.h"
#include "src/look/source.h"

namespace beeline::look {
namespace {

// The order in which the segments of an inbox are copied; negative: not at all. Links come before
// homes: a message that moves from a lane into the inbox meanwhile is then seen once.
int turn_of(const SegmentName& name, std::uint32_t pid) {
  switch (name.kind) {
    case shm::SegmentKind::kDirectory:
      return 0;
    case shm::SegmentKind::kLink:
      return name.peer_pid == pid ? 1 : -1;
    case shm::SegmentKind::kHome:
      return name.pid == pid ? 2 : -1;
    default:
      return -1;
  }
}

}  // namespace

Result<InboxSegments> InboxSegments::load(std::string_view hive, std::uint32_t pid) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  const auto sources = find_segments(hive);
  if (!sources) return tl::unexpected(sources.error());
  struct Chosen {
    int turn;
    SegmentName name;
    const Source* source;
  };
  std::vector<Chosen> chosen;
  for (const Source& source : *sources) {
    const auto name = parse_segment_name(source.name, paths->hive);
    const int turn = name ? turn_of(*name, pid) : -1;
    if (turn >= 0) chosen.push_back({turn, *name, &source});
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Chosen& a, const Chosen& b) { return a.turn < b.turn; });
  std::vector<Segment> loaded;
  std::map<std::pair<shm::Incarnation, std::uint32_t>, bool> links;
  std::string damaged_home;
  for (const auto& [turn, name, source] : chosen) {
    auto segment = load_segment(*source);
    if (!segment && segment.error().code == ErrorCode::kDenied) {
      return tl::unexpected(std::move(segment.error()));
    }
    // Its holder has closed it since.
    if (!segment && segment.error().code == ErrorCode::kClosed) continue;
    const bool is_sound = segment && segment->is_sound(name.kind);
    if (name.kind == shm::SegmentKind::kLink) {
      links[{name.incarnation, name.serial}] = is_sound;
    }
    if (name.kind == shm::SegmentKind::kHome && !is_sound) {
      damaged_home = segment ? fmt::format("{} is no home of an agent", source->name)
                             : std::move(segment.error().text);
    }
    if (segment) loaded.push_back(std::move(*segment));
  }
  InboxSegments all(pid, std::move(loaded));
  all.links_ = std::move(links);
  all.damaged_home_ = std::move(damaged_home);
  return all;
}

Error InboxSegments::why_no_home(const std::string& hidden) const {
  if (has_damaged_home()) {
    return {ErrorCode::kBadSegment, 0,
            fmt::format("the inbox of pid {} cannot be read: {}; see `shm-dump --verify`", pid_,
                        damaged_home_)};
  }
  if (!hidden.empty() && pid_ != control::kKingPid) return unreadable(pid_, hidden);
  return {ErrorCode::kNoAgent, 0,
          fmt::format("pid {} has no inbox among the segments of the hive: it is the coordinator, "
                      "or it has not finished its attach; see `beeline tree`",
                      pid_)};
}

bool InboxSegments::has_all(const std::vector<shm::LinkKey>& links) const {
  return std::all_of(links.begin(), links.end(), [this](const shm::LinkKey& key) {
    return links_.contains({key.incarnation, key.serial});
  });
}

std::size_t InboxSegments::damaged_links(const std::vector<shm::LinkKey>& links) const {
  return static_cast<std::size_t>(
      std::count_if(links.begin(), links.end(), [this](const shm::LinkKey& key) {
        const auto known = links_.find({key.incarnation, key.serial});
        return known != links_.end() && !known->second;
      }));
}

const Segment* link_of_row(const Segments& all, const Segment& home, shm::RowIndex row) {
  const shm::ByteView view = home.view();
  const shm::HomeShape shape(shm::capacity_of(view));
  if (row.value() >= shape.rows_allocated(view)) return nullptr;
  const std::uint64_t at = shape.row_at(row);
  return all.find_link(
      view.u32(at + offsetof(shm::InRow, owner_pid)),
      {shm::Incarnation(view.u64(at)), view.u32(at + offsetof(shm::InRow, serial))});
}

Error unreadable(std::uint32_t pid, const std::string& why) {
  return {ErrorCode::kDenied, 0,
          fmt::format("the inbox of pid {} cannot be read from here: {}", pid, why)};
}

}  // namespace beeline::look
