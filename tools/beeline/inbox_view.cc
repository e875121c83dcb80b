#include "tools/beeline/inbox_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <beeline/types.h>
#include "shm/verify.h"

#include "src/control/hive_paths.h"
#include "src/os/clock.h"
#include "src/os/memfd.h"
#include "tools/beeline/inbox_judge.h"
#include "tools/beeline/oldest.h"
#include "tools/shm_dump/keeper_sight.h"
#include "tools/shm_dump/segment_name.h"
#include "tools/shm_dump/segments.h"
#include "tools/shm_dump/source.h"

namespace beeline::cli {
namespace {

using dump::Segment;
using dump::Segments;
using dump::Source;

// Larger than any number of arrivals that an inbox has counted.
constexpr std::uint64_t kNotArrived = std::uint64_t{1} << 60;
constexpr std::chrono::milliseconds kBetweenLooks{10};

// The segments of a hive that `wanted(name)` picks, in the order of the numbers that it returns:
// smaller numbers are copied first, negative ones are left out.
template <typename Wanted>
Result<std::vector<Segment>> load(std::string_view hive, Wanted&& wanted) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  const auto sources = dump::find_segments(hive);
  if (!sources) return tl::unexpected(sources.error());
  std::vector<std::pair<int, const Source*>> chosen;
  for (const Source& source : *sources) {
    const auto name = dump::parse_segment_name(source.name, paths->hive);
    const int turn = name ? wanted(*name) : -1;
    if (turn >= 0) chosen.emplace_back(turn, &source);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Segment> loaded;
  for (const auto& [turn, source] : chosen) {
    auto segment = dump::load_segment(*source);
    if (segment) {
      loaded.push_back(std::move(*segment));
    } else if (segment.error().code == ErrorCode::kDenied) {
      return tl::unexpected(std::move(segment.error()));
    }
  }
  return loaded;
}

// The link that a row of a home is for; null if there is none.
const Segment* link_of_row(const Segments& all, const Segment& home, shm::RowIndex row) {
  const shm::ByteView view = home.view();
  const shm::HomeShape shape(shm::capacity_of(view));
  if (row.value() >= shape.rows_allocated(view)) return nullptr;
  const std::uint64_t at = shape.row_at(row);
  return all.find_link(
      view.u32(at + offsetof(shm::InRow, owner_pid)),
      {shm::Incarnation(view.u64(at)), view.u32(at + offsetof(shm::InRow, serial))});
}

class InboxReader {
 public:
  // `in_links`: the links that their reader must not forget yet. All three are borrowed.
  InboxReader(const Segments& all, const Segment& home, const std::vector<shm::LinkKey>& in_links)
      : all_(all),
        home_(home),
        in_links_(in_links),
        judge_(all, home),
        view_(home.view()),
        shape_(shm::capacity_of(view_)) {}

  std::vector<InboxLine> read() {
    std::vector<InboxLine> waiting;
    std::vector<InboxLine> aside;
    std::vector<InboxLine> leased;
    std::vector<InboxLine> dead;
    for (shm::EntryIndex i(0); i.value() < shape_.entries_allocated(view_); ++i) {
      const auto word = shm::EntryWord::unpack(view_.u64(shape_.entry_at(i)));
      if (word.state == shm::EntryState::kFree || !shape_.is_taken(view_, i)) continue;
      InboxLine line = entry(i, word);
      if (word.state == shm::EntryState::kQueued) {
        const bool in_order = line.place == shm::to_string(word.state);
        (in_order ? waiting : aside).push_back(std::move(line));
      }
      if (word.state == shm::EntryState::kLeased) leased.push_back(std::move(line));
      if (word.state == shm::EntryState::kDead) dead.push_back(std::move(line));
    }
    for (const Segment& link : all_.all()) {
      if (!link.is_sound(shm::SegmentKind::kLink) || link.peer_pid() != home_.owner_pid()) continue;
      add_lane(link, shm::Lane::kUrgent, waiting);
      add_lane(link, shm::Lane::kNormal, waiting);
    }
    const auto before = [](const InboxLine& a, const InboxLine& b) {
      return std::tie(a.key, a.arrival) < std::tie(b.key, b.arrival);
    };
    std::stable_sort(waiting.begin(), waiting.end(), before);
    std::stable_sort(leased.begin(), leased.end(), before);
    std::move(aside.begin(), aside.end(), std::back_inserter(waiting));
    std::move(leased.begin(), leased.end(), std::back_inserter(waiting));
    std::move(dead.begin(), dead.end(), std::back_inserter(waiting));
    return waiting;
  }

 private:
  InboxLine line_of(const shm::MessageHeader& header, std::string place, const Segment* link,
                    std::span<const std::byte> payload) {
    InboxLine line;
    line.place = std::move(place);
    line.id = header.id;
    line.reply_to = header.reply_to;
    const std::uint32_t pid = shm::pid_of_message(header.id);
    line.from = all_.agent_name(pid);
    if (line.from.empty()) line.from = fmt::format("pid {}", pid);
    auto texts = dump::texts_of(link, header);
    line.type = std::move(texts.type);
    if (is_copy(header)) line.type.insert(0, kSiblingTraffic);
    line.channel = std::move(texts.channel);
    line.rank = header.rank;
    line.bytes = header.length;
    line.age_ms =
        (home_.now_ns - std::clamp<std::int64_t>(header.sent_ns, 0, home_.now_ns)) / 1'000'000;
    line.preview = dump::preview_of(header, payload, link);
    const auto policy = static_cast<shm::OrderPolicy>(
        view_.u32(shape_.control(offsetof(shm::HomeControl, policy))));
    const auto step = std::clamp<std::int64_t>(static_cast<std::int64_t>(view_.u64(shape_.control(
                                                   offsetof(shm::HomeControl, rank_step_us)))),
                                               0, 2'000'000'000);
    line.key = shm::order_key(policy, step, header);
    return line;
  }

  InboxLine entry(shm::EntryIndex i, const shm::EntryWord& word) {
    const std::uint64_t at = shape_.entry_at(i);
    const auto header = view_.load<shm::MessageHeader>(at + offsetof(shm::Entry, header));
    const Segment* link = link_of_row(all_, home_, word.row);
    InboxLine line =
        line_of(header, std::string(dump::place_of(word.state, header)), link,
                view_.part(at + offsetof(shm::Entry, payload) + shm::extension_bytes(header),
                           shm::inline_room(header)));
    line.attempts = word.attempts;
    line.arrival = view_.u64(at + offsetof(shm::Entry, arrival));
    if (word.state == shm::EntryState::kQueued) note_expiry(header, line);
    if (word.state == shm::EntryState::kDead) {
      line.reason = shm::to_string(static_cast<shm::DeadReason>(header.flags >> shm::kReasonShift));
    }
    return line;
  }

  // The message has expired, but its agent has not looked since: the agent will not hand it out
  // any more.
  void note_expiry(const shm::MessageHeader& header, InboxLine& line) const {
    const bool revived = (header.flags & shm::kFlagRevived) != 0;
    // The sender writes the time into the lane, so it may be any number.
    const auto sent_ns = std::clamp<std::int64_t>(header.sent_ns, 0, home_.now_ns);
    if (revived || home_.now_ns <= shm::end_of_life(header, sent_ns)) return;
    line.reason = shm::to_string(shm::DeadReason::kExpired);
  }

  // The row of this inbox for a link, if it has one.
  std::optional<shm::RowIndex> row_of(const Segment& link) const {
    for (shm::RowIndex i(0); i.value() < shape_.rows_allocated(view_); ++i) {
      const std::uint64_t row = shape_.row_at(i);
      if (view_.u64(row) == link.incarnation().value() &&
          view_.u32(row + offsetof(shm::InRow, serial)) == link.serial()) {
        return i;
      }
    }
    return std::nullopt;
  }

  // How far this inbox has taken a lane. 0 if it does not know the link yet. Nothing if it has
  // forgotten the link: then all messages of that link are done.
  std::optional<std::uint64_t> cursor(const Segment& link, shm::Lane lane) const {
    if (const auto row = row_of(link)) return shape_.cursor(view_, *row, lane);
    const shm::LinkKey key{link.incarnation(), link.serial()};
    if (std::find(in_links_.begin(), in_links_.end(), key) == in_links_.end()) return std::nullopt;
    return 0;
  }

  void add_lane(const Segment& link, shm::Lane lane, std::vector<InboxLine>& lines) {
    const auto taken = cursor(link, lane);
    if (!taken) return;
    const auto row = row_of(link);
    const std::int64_t earliest_ns = row ? empty_until(view_, shape_, *row, home_.now_ns) : 0;
    const shm::ByteView view = link.view();
    const shm::LinkContract contract = shm::contract_of(view);
    const auto shape = shm::lane_shape(contract, shm::LinkLayout(contract), lane);
    const std::uint64_t tail = shm::tail_of(view, shape);
    std::uint64_t position = std::max(*taken, tail > shape.capacity ? tail - shape.capacity : 0);
    for (; position < tail; ++position) {
      if (!shm::holds(view, shape, position)) continue;
      const std::uint64_t at = shape.slot_at(position);
      const shm::SlotCopy slot = shm::slot_copy(view, at);
      const shm::MessageHeader header =
          judge_.judge(slot.header, link, dump::string_of(&link, slot.header.type), earliest_ns);
      lines.push_back(
          line_of(header, "lane", &link,
                  view.part(at + offsetof(shm::Slot, payload) + shm::extension_bytes(header),
                            shm::inline_room(header))));
      lines.back().arrival = kNotArrived + shm::counter_of_message(header.id);
      note_expiry(header, lines.back());
    }
  }

  const Segments& all_;
  const Segment& home_;
  const std::vector<shm::LinkKey>& in_links_;
  InboxJudge judge_;
  shm::ByteView view_;
  shm::HomeShape shape_;
};

Result<std::vector<Segment>> load_inbox(std::string_view hive, std::uint32_t pid) {
  // Read links before homes: a message that moves from a lane into the inbox meanwhile is then seen
  // once.
  return load(hive, [pid](const dump::SegmentName& name) {
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
  });
}

// Whether the look found every link that the coordinator knows, sound or not: the keeper may not
// have received the newest ones yet.
bool has_all(const Segments& all, std::string_view hive,
             const std::vector<shm::LinkKey>& in_links) {
  const auto paths = control::find_hive(hive);
  if (!paths) return false;
  std::set<std::pair<shm::Incarnation, std::uint32_t>> found;
  for (const Segment& segment : all.all()) {
    const auto name = dump::parse_segment_name(segment.source.name, paths->hive);
    if (name && name->kind == shm::SegmentKind::kLink) {
      found.emplace(name->incarnation, name->serial);
    }
  }
  return std::all_of(in_links.begin(), in_links.end(), [&](const shm::LinkKey& key) {
    return found.contains({key.incarnation, key.serial});
  });
}

tl::unexpected<Error> unreadable(std::uint32_t pid, const std::string& why) {
  return fail(ErrorCode::kDenied,
              fmt::format("the inbox of pid {} cannot be read from here: {}", pid, why));
}

// `hidden`: why not all segments are visible.
tl::unexpected<Error> no_home(std::uint32_t pid, const std::string& hidden) {
  if (!hidden.empty() && pid != control::kKingPid) return unreadable(pid, hidden);
  return fail(ErrorCode::kNoAgent,
              fmt::format("pid {} has no inbox among the segments of the hive: it is the "
                          "coordinator, or it has not finished its attach; see `beeline tree`",
                          pid));
}

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
  const auto fd = dump::open_source(source);
  if (!fd) return tl::unexpected(fd.error());
  std::string bytes(length, '\0');
  const auto read = os::read_at(fd->get(), at, std::as_writable_bytes(std::span(bytes)));
  if (!read) return tl::unexpected(read.error());
  bytes.resize(*read);
  return bytes;
}

}  // namespace

Result<std::string> read_dead_payload(std::string_view hive, std::uint32_t pid, std::uint64_t id) {
  auto loaded = load_inbox(hive, pid);
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  const Segments all(std::move(*loaded));
  const Segment* home = all.find_home(pid);
  if (home == nullptr) {
    const auto paths = control::find_hive(hive);
    return no_home(pid, paths ? dump::why_keeper_is_hidden(*paths) : "");
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
  const Segment* link = link_of_row(all, *home, shm::EntryWord::unpack(view.u64(at)).row);
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

Result<std::vector<InboxLine>> look_into_inbox(control::Client& client, std::string_view hive,
                                               std::uint32_t pid) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  // If not empty, waiting for a segment of the keeper is in vain.
  const std::string hidden = dump::why_keeper_is_hidden(*paths);
  const Deadline until_whole = after(dump::kKeeperPatience);
  for (;; std::this_thread::sleep_for(kBetweenLooks)) {
    const bool is_last = pid == control::kKingPid || !hidden.empty() ||
                         std::chrono::steady_clock::now() > until_whole;
    auto loaded = load_inbox(hive, pid);
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    const Segments all(std::move(*loaded));
    const Segment* home = all.find_home(pid);
    if (home == nullptr && is_last) return no_home(pid, hidden);
    if (home == nullptr) continue;
    // Ask last. The reader closes a row only after the coordinator has recorded that its link may
    // be forgotten. So if the coordinator still lists a link that has no row, the home did not know
    // that link when it was copied.
    const auto in_links = client.links_to(pid);
    if (!in_links) return tl::unexpected(in_links.error());
    const bool is_whole = has_all(all, hive, *in_links);
    if (!is_whole && !hidden.empty()) return unreadable(pid, hidden);
    if (is_last || is_whole) return InboxReader(all, *home, *in_links).read();
  }
}

}  // namespace beeline::cli
