#include "src/look/inbox_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include <beeline/types.h>

#include "shm/extension.h"
#include "src/look/oldest.h"

namespace beeline::look {
namespace {

// Larger than any number of arrivals that an inbox has counted.
constexpr std::uint64_t kNotArrived = std::uint64_t{1} << 60;
constexpr std::size_t kShownBytes = 64;

// `area`: what follows the header, extension first.
std::uint64_t cause_of(const shm::MessageHeader& header, std::span<const std::byte> area) {
  shm::Extension extension{};
  if (shm::extension_bytes(header) != 0 && area.size() >= sizeof(extension)) {
    std::memcpy(&extension, area.data(), sizeof(extension));
  }
  return extension.cause != 0 ? extension.cause : header.reply_to;
}

}  // namespace

std::vector<SeenMessage> InboxReader::read() const {
  std::vector<Line> waiting;
  std::vector<Line> aside;
  std::vector<Line> leased;
  std::vector<Line> dead;
  for (shm::EntryIndex i(0); i.value() < shape_.entries_allocated(view_); ++i) {
    const auto word = shm::EntryWord::unpack(view_.u64(shape_.entry_at(i)));
    if (word.state == shm::EntryState::kFree || !shape_.is_taken(view_, i)) continue;
    Line line = entry(i, word);
    const InboxPlace place = line.message.place;
    auto& group = place == InboxPlace::kQueued   ? waiting
                  : place == InboxPlace::kLeased ? leased
                  : place == InboxPlace::kDead   ? dead
                                                 : aside;
    group.push_back(std::move(line));
  }
  for (const Segment& link : all_.all()) {
    if (!link.is_sound(shm::SegmentKind::kLink) || link.peer_pid() != home_.owner_pid()) continue;
    add_lane(link, shm::Lane::kUrgent, waiting);
    add_lane(link, shm::Lane::kNormal, waiting);
  }
  const auto before = [](const Line& a, const Line& b) {
    return std::tie(a.key, a.arrival) < std::tie(b.key, b.arrival);
  };
  std::stable_sort(waiting.begin(), waiting.end(), before);
  std::stable_sort(leased.begin(), leased.end(), before);
  std::vector<SeenMessage> messages;
  for (std::vector<Line>* group : {&waiting, &aside, &leased, &dead}) {
    for (Line& line : *group) messages.push_back(std::move(line.message));
  }
  return messages;
}

InboxReader::Line InboxReader::line_of(const shm::MessageHeader& header, InboxPlace place,
                                       const Segment* link,
                                       std::span<const std::byte> payload) const {
  Line line;
  SeenMessage& message = line.message;
  message.place = place;
  message.stashed = place == InboxPlace::kAwaited || place == InboxPlace::kStashed ||
                    place == InboxPlace::kOrder || place == InboxPlace::kUnwanted;
  message.leased = place == InboxPlace::kLeased;
  message.dead = place == InboxPlace::kDead;
  message.id = header.id;
  message.reply_to = header.reply_to;
  message.from = shm::pid_of_message(header.id);
  message.from_name = all_.raw_agent_name(message.from);
  auto texts = raw_texts_of(link, header);
  message.type = std::move(texts.type);
  if (is_copy(header)) message.type.insert(0, kSiblingTraffic);
  message.channel = std::move(texts.channel);
  message.rank = header.rank;
  message.hops = header.hops;
  message.ttl_ms = header.ttl_ms;
  message.length = header.length;
  message.requires_ack = (header.flags & shm::kFlagRequiresAck) != 0;
  message.sent_ns = std::clamp<std::int64_t>(header.sent_ns, 0, home_.now_ns);
  const auto start = start_of_payload(header, payload, link);
  message.preview.assign(reinterpret_cast<const char*>(start.data()),
                         std::min(start.size(), kShownBytes));
  const auto policy =
      static_cast<shm::OrderPolicy>(view_.u32(shape_.control(offsetof(shm::HomeControl, policy))));
  const auto step = std::clamp<std::int64_t>(static_cast<std::int64_t>(view_.u64(shape_.control(
                                                 offsetof(shm::HomeControl, rank_step_us)))),
                                             0, 2'000'000'000);
  line.key = shm::order_key(policy, step, header);
  return line;
}

InboxReader::Line InboxReader::entry(shm::EntryIndex i, const shm::EntryWord& word) const {
  const std::uint64_t at = shape_.entry_at(i);
  const auto header = view_.load<shm::MessageHeader>(at + offsetof(shm::Entry, header));
  const std::uint64_t payload_at = at + offsetof(shm::Entry, payload);
  Line line =
      line_of(header, place_of(word.state, header, shape_.is_task(view_, i)),
              link_of_row(all_, home_, word.row),
              view_.part(payload_at + shm::extension_bytes(header), shm::inline_room(header)));
  const bool in_slab = (header.flags & shm::kFlagSlab) != 0;
  line.message.cause =
      cause_of(header, view_.part(payload_at + (in_slab ? sizeof(shm::Entry::generation) : 0),
                                  sizeof(shm::Extension)));
  line.message.attempts = word.attempts;
  line.arrival = view_.u64(at + offsetof(shm::Entry, arrival));
  if (word.state == shm::EntryState::kQueued) note_expiry(header, line.message);
  if (word.state == shm::EntryState::kDead) {
    line.message.reason =
        shm::to_string(static_cast<shm::DeadReason>(header.flags >> shm::kReasonShift));
  }
  return line;
}

// The message has expired, but its agent has not looked since: the agent will not hand it out any
// more.
void InboxReader::note_expiry(const shm::MessageHeader& header, SeenMessage& message) const {
  const bool revived = (header.flags & shm::kFlagRevived) != 0;
  // The sender writes the time into the lane, so it may be any number.
  const auto sent_ns = std::clamp<std::int64_t>(header.sent_ns, 0, home_.now_ns);
  if (revived || home_.now_ns <= shm::end_of_life(header, sent_ns)) return;
  message.reason = shm::to_string(shm::DeadReason::kExpired);
}

// The row of this inbox for a link, if it has one.
std::optional<shm::RowIndex> InboxReader::row_of(const Segment& link) const {
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
std::optional<std::uint64_t> InboxReader::cursor(const Segment& link,
                                                 std::optional<shm::RowIndex> row,
                                                 shm::Lane lane) const {
  if (row) return shape_.cursor(view_, *row, lane);
  const shm::LinkKey key{link.incarnation(), link.serial()};
  if (std::find(in_links_.begin(), in_links_.end(), key) == in_links_.end()) return std::nullopt;
  return 0;
}

void InboxReader::add_lane(const Segment& link, shm::Lane lane, std::vector<Line>& lines) const {
  const auto row = row_of(link);
  const auto taken = cursor(link, row, lane);
  if (!taken) return;
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
        judge_.judge(slot.header, link, raw_string_of(&link, slot.header.type), earliest_ns);
    const std::uint64_t payload_at = at + offsetof(shm::Slot, payload);
    Line line =
        line_of(header, InboxPlace::kLane, &link,
                view.part(payload_at + shm::extension_bytes(header), shm::inline_room(header)));
    line.message.cause = cause_of(header, view.part(payload_at, sizeof(shm::Extension)));
    line.arrival = kNotArrived + shm::counter_of_message(header.id);
    note_expiry(header, line.message);
    lines.push_back(std::move(line));
  }
}

}  // namespace beeline::look
