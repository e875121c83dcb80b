#include "src/agent/recorder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "src/agent/directory.h"
#include "src/agent/leases.h"
#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/agent/sender.h"
#include "src/os/clock.h"
#include "src/segment/names.h"

namespace beeline {

namespace {

using Layout = shm::HistoryLayout;

// A ring gets memory in three steps, because most agents of a command line write few rows.
constexpr std::uint32_t kFirstRows = 64;
constexpr std::uint32_t kGrowth = 4;

void set_type(shm::HistoryRow& row, std::string_view type) {
  row.type_length =
      static_cast<std::uint8_t>(std::min<std::size_t>(type.size(), shm::kHistoryTypeBytes));
  std::memcpy(row.type, type.data(), row.type_length);
}

shm::HistoryRow row_of(const shm::MessageHeader& header, const shm::Extension& extension) {
  shm::HistoryRow row{};
  row.id = header.id;
  row.reply_to = header.reply_to;
  row.cause = extension.cause != 0 ? extension.cause : header.reply_to;
  std::memcpy(row.trace, extension.trace, sizeof(row.trace));
  row.rank = header.rank;
  row.length = header.length;
  row.flags = static_cast<std::uint16_t>(header.flags & shm::kWireFlags);
  row.at_ns = os::coarse_ns();
  return row;
}

std::string_view type_in(const shm::Link& link, const shm::MessageHeader& header,
                         shm::StringCopy& copy) {
  if (header.type == 0) return {};
  copy = header.type == shm::kCarriedText ? shm::read_carried(link, shm::slab_of(header)).type
                                          : shm::read_string(link, header.type);
  return copy.view();
}

}  // namespace

void Recorder::look() {
  const shm::HistoryLevel wanted = with_.directory.view().history();
  if (wanted != level_ && !has_failed_) {
    if (wanted != shm::HistoryLevel::kOff && !is_made_ && !make_segment()) {
      has_failed_ = true;  // asked again at each turn, the machine would have no peace
      return;
    }
    set_level(wanted);
  }
  if (is_made_ && shown_to_ != with_.directory.view().header().owner_incarnation) show_segment();
}

bool Recorder::make_segment() {
  const OwnLife& life = with_.life;
  auto segment =
      segment::Owned::create(segment::history_name(life.hive(), life.pid(), life.incarnation()),
                             Layout::kBytes, Layout::kFirstExtent);
  if (!segment) return false;
  segment_ = std::move(*segment);
  shm::init_history(segment_.data(), life.name(), life.pid(), life.incarnation());
  for (const auto ring : {shm::HistoryRing::kSend, shm::HistoryRing::kOwn}) {
    rings_[static_cast<std::size_t>(ring)].writer = shm::HistoryWriter(segment_.data(), ring);
  }
  is_made_ = true;
  return true;
}

void Recorder::set_level(shm::HistoryLevel level) {
  const bool on = level != shm::HistoryLevel::kOff;
  {
    const auto lock = with_.life.lock_send();
    level_ = level;
    with_.sender.record(on);
  }
  with_.leases.record(on);
  with_.receiver.kept().on_burial(
      on ? receive::Burial([this](shm::EntryIndex at, shm::DeadReason reason) {
        using enum shm::HistoryEvent;
        const bool expired = reason == shm::DeadReason::kExpired;
        const bool rejected = reason == shm::DeadReason::kRejected;
        note(at, expired ? kExpired : rejected ? kRejected : kDead, reason);
      })
         : receive::Burial());
}

// One that has no room for the packet is given it at a later turn.
void Recorder::show_segment() {
  if (with_.client.closed() || !with_.client.record(segment_.fd())) return;
  shown_to_ = with_.directory.view().header().owner_incarnation;
}

void Recorder::note_sent(const send::OutLink& link) {
  const send::SentPlace& place = with_.links.path().last_place();
  const shm::Slot& slot = link.view().slot(place.lane, place.position);
  const auto header = slot.header.load<shm::MessageHeader>();
  unsigned char area[shm::kInlineBytes];
  slot.payload.load_bytes(area, sizeof(area));
  shm::Extension extension{};
  if (shm::extension_bytes(header) != 0) std::memcpy(&extension, area, sizeof(extension));
  shm::HistoryRow row = row_of(header, extension);
  row.event = static_cast<std::uint8_t>(shm::HistoryEvent::kSent);
  row.peer = link.peer();
  shm::StringCopy type;
  set_type(row, type_in(link.view(), header, type));
  const bool is_in_slab = (header.flags & shm::kFlagSlab) != 0;
  const auto* payload =
      is_in_slab ? link.view().slab(shm::slab_of(header))
                 : reinterpret_cast<const std::byte*>(area) + shm::extension_bytes(header);
  write(shm::HistoryRing::kSend, row, {payload, header.length});
}

void Recorder::note(shm::EntryIndex entry, shm::HistoryEvent event, shm::DeadReason reason) {
  const shm::Entry& message = with_.receiver.entry(entry);
  shm::HistoryRow row = row_of(message.header, message.extension());
  row.event = static_cast<std::uint8_t>(event);
  row.reason = static_cast<std::uint8_t>(reason);
  row.peer = shm::pid_of_message(message.header.id);
  set_type(row, with_.receiver.entries().own_type(entry).view());
  const bool is_taken = event == shm::HistoryEvent::kTaken;  // an end shows no payload again
  write(shm::HistoryRing::kOwn, row,
        is_taken ? with_.receiver.payload(entry) : std::span<const std::byte>());
}

void Recorder::write(shm::HistoryRing which, const shm::HistoryRow& row,
                     std::span<const std::byte> payload) {
  if (level_ != shm::HistoryLevel::kPreviews) payload = {};
  Ring& ring = rings_[static_cast<std::size_t>(which)];
  const std::uint64_t slot = ring.writer.position() % shm::kHistoryRowCount;
  const bool has_room = slot < ring.rows && (payload.empty() || slot < ring.previews);
  if (has_room || make_room(ring)) ring.writer.write(row, payload);
}

// False: there is no memory now, and the row is left out.
bool Recorder::make_room(Ring& ring) {
  const std::uint64_t slot = ring.writer.position() % shm::kHistoryRowCount;
  const shm::HistoryRing which = ring.writer.ring();
  if (slot >= ring.rows) {
    const std::uint32_t rows = ring.rows == 0 ? kFirstRows : ring.rows * kGrowth;
    if (!segment_.allocate(Layout::rows_of(which), rows * sizeof(shm::HistoryRow))) return false;
    ring.rows = rows;
  }
  if (level_ != shm::HistoryLevel::kPreviews || slot < ring.previews) return true;
  if (!segment_.allocate(Layout::previews_of(which), ring.rows * shm::kPreviewBytes)) return false;
  ring.previews = ring.rows;
  return true;
}

}  // namespace beeline
