#include "src/look/segments.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "shm/strings.h"
#include "src/control/name_search.h"
#include "src/look/escape.h"
#include "src/os/clock.h"
#include "src/os/memfd.h"

namespace beeline::look {
namespace {

constexpr std::size_t kPreviewBytes = 48;

std::string name_in(const shm::AgentRecord& record) {
  const std::string_view whole(record.name, shm::kNameBytes);
  return std::string(whole.substr(0, whole.find('\0')));
}

// Another version may have other sizes, so check the version first. A file that is too short for
// that, or unreadable, is left to the code that copies it.
Result<void> refuse_foreign(const Source& source, int fd) {
  std::array<std::byte, offsetof(shm::SegmentHeader, kind)> start{};
  const auto length = os::read_at(fd, 0, start);
  if (!length || *length != start.size()) return {};
  const shm::ByteView view(start);
  const std::string where =
      source.saved ? source.path : fmt::format("{} ({})", source.name, source.path);
  if (view.u64(0) != shm::kMagic) {
    return fail(ErrorCode::kBadSegment,
                fmt::format("{} is no Beeline segment: it starts with {:016x}, a segment with "
                            "{:016x}; name a file that shm-dump --save has written",
                            where, view.u64(0), shm::kMagic));
  }
  const std::uint16_t major = view.u16(offsetof(shm::SegmentHeader, layout_major));
  const std::uint16_t minor = view.u16(offsetof(shm::SegmentHeader, layout_minor));
  if (major != shm::kLayoutMajor || minor != shm::kLayoutMinor) {
    return fail(ErrorCode::kWrongVersion,
                fmt::format("{} has layout version {}.{}, this shm-dump reads {}.{}: use the "
                            "shm-dump that was installed with the programs of that hive",
                            where, major, minor, shm::kLayoutMajor, shm::kLayoutMinor));
  }
  return {};
}

}  // namespace

std::uint32_t Segment::owner_pid() const {
  return view().u32(offsetof(shm::SegmentHeader, owner_pid));
}
std::uint32_t Segment::peer_pid() const {
  return view().u32(offsetof(shm::SegmentHeader, peer_pid));
}
shm::Incarnation Segment::incarnation() const {
  return shm::Incarnation(view().u64(offsetof(shm::SegmentHeader, owner_incarnation)));
}
std::uint32_t Segment::serial() const { return view().u32(offsetof(shm::SegmentHeader, serial)); }

Result<Segment> load_segment(const Source& source) {
  const auto fd = open_source(source);
  if (!fd) return tl::unexpected(fd.error());
  if (auto good = refuse_foreign(source, fd->get()); !good) return tl::unexpected(good.error());
  auto copy = Capture::take(fd->get(), source.path);
  if (!copy) return tl::unexpected(copy.error());
  Segment segment;
  segment.source = source;
  segment.copy = std::move(*copy);
  segment.shape = shm::verify_header(segment.view());
  segment.live = !source.saved || source.saved_live;
  segment.now_ns = source.saved ? 0 : os::monotonic_ns();
  return segment;
}

Segments::Segments(std::vector<Segment> segments) : segments_(std::move(segments)) {
  for (const Segment& segment : segments_) {
    if (segment.is_sound(shm::SegmentKind::kLink)) links_.emplace(segment.owner_pid(), &segment);
    if (segment.is_sound(shm::SegmentKind::kHome) && shm::is_ready(segment.view())) {
      const Segment*& home = homes_[segment.owner_pid()];
      if (home == nullptr || home->incarnation() < segment.incarnation()) home = &segment;
    }
    if (segment.is_sound(shm::SegmentKind::kStatus)) {
      status_.insert_or_assign(segment.incarnation(), &segment);
    }
    if (segment.is_sound(shm::SegmentKind::kDirectory) &&
        (directory_ == nullptr || directory_->incarnation() < segment.incarnation())) {
      directory_ = &segment;
    }
  }
  if (directory_ != nullptr) read_directory();
  judge_liveness();
}

void Segments::read_directory() {
  const shm::ByteView view = directory_->view();
  for (std::uint32_t i = 0; i < shm::agent_count_of(view); ++i) {
    const auto record = view.load<shm::AgentRecord>(shm::record_at(view, i));
    if (record.pid == 0) continue;
    agents_.insert_or_assign(
        record.pid,
        Agent{name_in(record), shm::AgentWord::unpack(view.u64(shm::agent_word_at(i)))});
  }
}

void Segments::judge_liveness() {
  for (Segment& segment : segments_) {
    if (!segment.live || segment.source.saved || segment.kind() == shm::SegmentKind::kDirectory) {
      continue;
    }
    const auto agent = agents_.find(segment.owner_pid());
    if (agent == agents_.end()) continue;
    // An incarnation that the directory does not name yet is starting; one that it names no longer
    // is over.
    const shm::AgentWord word = agent->second.word;
    const bool over = word.state == shm::AgentState::kAway ||
                      word.state == shm::AgentState::kDead ||
                      word.state == shm::AgentState::kStarting;
    segment.live = segment.incarnation() > word.incarnation ||
                   (segment.incarnation() == word.incarnation && !over);
  }
}

std::string Segments::agent_name(std::uint32_t pid) const { return escape(raw_agent_name(pid)); }

std::string Segments::raw_agent_name(std::uint32_t pid) const {
  const auto agent = agents_.find(pid);
  return agent == agents_.end() ? std::string() : agent->second.name;
}

std::vector<std::uint32_t> Segments::find_agents(std::string_view name_or_pid) const {
  std::vector<std::uint32_t> pids;
  std::uint32_t number = 0;
  const char* end = name_or_pid.data() + name_or_pid.size();
  const auto parsed = std::from_chars(name_or_pid.data(), end, number);
  const bool is_pid = parsed.ec == std::errc{} && parsed.ptr == end;
  const auto known = [&](const Segment& segment) {
    return segment.kind() != shm::SegmentKind::kDirectory && segment.owner_pid() == number;
  };
  if (is_pid &&
      (agents_.contains(number) || std::any_of(segments_.begin(), segments_.end(), known))) {
    pids.push_back(number);
  }
  if (is_pid) return pids;  // a number always means a pid
  for (const auto& [pid, agent] : agents_) {
    if (agent.name == name_or_pid) pids.push_back(pid);
  }
  if (pids.empty()) {
    for (const auto& [pid, agent] : agents_) {
      if (control::matches_short_name(agent.name, name_or_pid)) pids.push_back(pid);
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

bool Segments::runs(const Segment& segment) const {
  return segment.live && (directory_ == nullptr || agents_.contains(segment.owner_pid()));
}

const Segment* Segments::find_link(std::uint32_t owner, const shm::LinkKey& key) const {
  const auto [first, last] = links_.equal_range(owner);
  for (auto it = first; it != last; ++it) {
    const Segment* link = it->second;
    if (link->incarnation() == key.incarnation && link->serial() == key.serial) return link;
  }
  return nullptr;
}

std::optional<Receipts> Segments::find_receipts(const Segment& link) const {
  std::optional<Receipts> newest;
  const auto [first, last] = links_.equal_range(link.peer_pid());
  for (auto it = first; it != last; ++it) {
    const Segment* opposite = it->second;
    if (opposite->peer_pid() != link.owner_pid()) continue;
    if (newest && newest->link->incarnation() > opposite->incarnation()) continue;
    const shm::ByteView view = opposite->view();
    const shm::LinkLayout layout(shm::contract_of(view));
    for (std::size_t i = 0; i < shm::kBanks; ++i) {
      const std::uint64_t at = layout.banks + i * sizeof(shm::ReceiptBank);
      if (view.u64(at) != link.incarnation().value()) continue;
      if (view.u32(at + offsetof(shm::ReceiptBank, serial)) != link.serial()) continue;
      newest = Receipts{opposite, at, i};
    }
  }
  return newest;
}

const Segment* Segments::find_home(std::uint32_t pid) const {
  const auto home = homes_.find(pid);
  return home == homes_.end() ? nullptr : home->second;
}

const Segment* Segments::find_status(shm::Incarnation incarnation) const {
  const auto status = status_.find(incarnation);
  return status == status_.end() ? nullptr : status->second;
}

std::optional<Progress> Segments::find_progress(const Segment& link) const {
  BEELINE_CHECK(link.is_sound(shm::SegmentKind::kLink), link.kind());
  Progress progress;
  const auto raise = [&progress](const Segment& from, std::uint64_t cursors) {
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      progress.taken[lane] = std::max(progress.taken[lane], from.view().u64(cursors + lane * 8));
    }
    if (progress.told_by == nullptr) progress.told_by = &from;
  };
  const Segment* home = find_home(link.peer_pid());
  if (home != nullptr) {
    const shm::ByteView view = home->view();
    const shm::HomeShape shape(shm::capacity_of(view));
    for (shm::RowIndex row(0); row.value() < shape.rows_allocated(view); ++row) {
      const std::uint64_t at = shape.row_at(row);
      if (view.u64(at) != link.incarnation().value()) continue;
      if (view.u32(at + offsetof(shm::InRow, serial)) != link.serial()) continue;
      raise(*home, at + offsetof(shm::InRow, cursors));
    }
  }
  if (const auto receipts = find_receipts(link)) {
    raise(*receipts->link, receipts->bank_at + offsetof(shm::ReceiptBank, cursors));
  }
  if (progress.told_by == nullptr && home == nullptr) return std::nullopt;
  if (progress.told_by != nullptr) return progress;
  progress.told_by = home;
  if (was_let_go(link)) {
    const shm::LinkContract contract = shm::contract_of(link.view());
    const shm::LinkLayout layout(contract);
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      const auto shape = shm::lane_shape(contract, layout, static_cast<shm::Lane>(lane));
      progress.taken[lane] = shm::tail_of(link.view(), shape);
    }
  }
  return progress;
}

void Segments::hear_links(std::uint32_t reader, std::vector<shm::LinkKey> counting) {
  counting_[reader] = std::move(counting);
}

bool Segments::was_let_go(const Segment& link) const {
  const auto known = counting_.find(link.peer_pid());
  if (known == counting_.end()) return false;
  const shm::LinkKey key{link.incarnation(), link.serial()};
  return std::find(known->second.begin(), known->second.end(), key) == known->second.end();
}

InboxPlace place_of(shm::EntryState state, const shm::MessageHeader& header, bool is_task) {
  if (state == shm::EntryState::kLeased) return InboxPlace::kLeased;
  if (state == shm::EntryState::kDead) return InboxPlace::kDead;
  if (is_task) return InboxPlace::kTask;
  if ((header.flags & shm::kFlagMatched) != 0) return InboxPlace::kAwaited;
  if ((header.flags & shm::kFlagStashed) == 0) return InboxPlace::kQueued;
  if (is_copy(header)) return InboxPlace::kUnwanted;
  return is_order(header) ? InboxPlace::kOrder : InboxPlace::kStashed;
}

namespace {

std::string text_at(const Segment& link, std::uint64_t at) {
  const auto length = link.view().load<std::uint8_t>(at);
  const auto bytes =
      link.view().part(at + 1, std::min<std::uint64_t>(length, shm::kMaxStringLength));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string raw_string_of(const Segment* link, std::uint32_t number) {
  if (number == 0) return {};
  if (link == nullptr) return fmt::format("#{}", number);
  const shm::LinkLayout layout(shm::contract_of(link->view()));
  if (number > shm::extents_of(link->view(), layout).strings) return fmt::format("#{}", number);
  return text_at(*link, layout.strings + number * shm::kStringBytes);
}

std::string string_of(const Segment* link, std::uint32_t number) {
  return escape(raw_string_of(link, number));
}

Texts raw_texts_of(const Segment* link, const shm::MessageHeader& header) {
  Texts texts{raw_string_of(link, header.type), raw_string_of(link, header.channel)};
  if (link == nullptr || (header.flags & shm::kFlagSlab) == 0) return texts;
  const shm::LinkLayout layout(shm::contract_of(link->view()));
  if (header.slab >= layout.total_slabs()) return texts;
  const std::uint64_t at = layout.carried_offset(shm::slab_of(header));
  if (header.type == shm::kCarriedText) {
    texts.type = text_at(*link, at + offsetof(shm::CarriedTexts, type));
  }
  if (header.channel == shm::kCarriedText) {
    texts.channel = text_at(*link, at + offsetof(shm::CarriedTexts, channel));
  }
  return texts;
}

Texts texts_of(const Segment* link, const shm::MessageHeader& header) {
  const Texts raw = raw_texts_of(link, header);
  return {escape(raw.type), escape(raw.channel)};
}

std::span<const std::byte> start_of_payload(const shm::MessageHeader& header,
                                            std::span<const std::byte> inline_payload,
                                            const Segment* link) {
  std::span<const std::byte> payload = inline_payload;
  if ((header.flags & shm::kFlagSlab) != 0) {
    if (link == nullptr) return {};
    const shm::LinkLayout layout(shm::contract_of(link->view()));
    if (header.slab >= layout.total_slabs()) return {};
    payload = link->view().part(layout.slab_offset(shm::slab_of(header)), kSlabPreviewBytes);
  }
  return payload.first(std::min<std::size_t>(payload.size(), header.length));
}

std::string preview_of(std::span<const std::byte> start, std::uint32_t length) {
  if (start.empty()) return {};
  const std::size_t shown = std::min(start.size(), kPreviewBytes);
  std::string text = escape(start.first(shown));
  if (length > shown) text += "...";
  return text;
}

std::string preview_of(const shm::MessageHeader& header, std::span<const std::byte> inline_payload,
                       const Segment* link) {
  return preview_of(start_of_payload(header, inline_payload, link), header.length);
}

}  // namespace beeline::look
