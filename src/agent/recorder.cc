#include "src/agent/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

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

// The flags of a message that a row has: not those that say where its parts lie.
constexpr std::uint16_t kRowFlags =
    shm::kWireFlags & static_cast<std::uint16_t>(~(shm::kFlagSlab | shm::kFlagExtended));

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
    for (Ring& ring : rings_) ring.end = 0;  // there may be rows without previews
    with_.sender.record(on);
  }
  with_.leases.record(on);
  with_.receiver.kept().on_burial(
      on ? receive::Burial([this](shm::EntryIndex at, shm::DeadReason reason) {
        using enum shm::HistoryEvent;
        const bool expired = reason == shm::DeadReason::kExpired;
        const bool rejected = reason == shm::DeadReason::kRejected;
        note_end(at, expired ? kExpired : rejected ? kRejected : kDead, reason);
      })
         : receive::Burial());
}

// Until a coordinator has said that the keeper holds it. One that refuses is asked again after a
// pause that grows, because there may be room later.
void Recorder::show_segment() {
  if (asked_ == 0) {
    if (with_.client.closed() || os::monotonic_ns() < next_ask_ns_) return;
    const auto asked = with_.client.ask_record(segment_.fd());
    if (asked) asked_ = *asked;
    return;
  }
  const auto answer = with_.client.take_answer(asked_);
  if (!answer) return;
  asked_ = 0;
  if (*answer) {
    shown_to_ = with_.directory.view().header().owner_incarnation;
    pause_ns_ = kFirstPause;
  } else if (answer->error().code != ErrorCode::kClosed) {
    next_ask_ns_ = os::monotonic_ns() + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kLongestPause);
  }
}

void Recorder::note_sent(const send::OutLink& link, std::uint64_t id,
                         std::span<const std::byte> payload, const send::Envelope& envelope) {
  Ring& sent = ring(shm::HistoryRing::kSend);
  if (!has_room(sent)) return;
  sent.writer.begin();
  const bool shows = level_ == shm::HistoryLevel::kPreviews;
  const std::size_t shown = shows ? sent.writer.put_preview(payload) : 0;
  const shm::Extension* const extension = envelope.extension;
  const std::uint64_t cause = extension == nullptr ? 0 : extension->cause;
  sent.writer.finish(
      {.event = shm::HistoryEvent::kSent,
       .id = id,
       .cause = cause != 0 ? cause : envelope.reply_to,
       .reply_to = envelope.reply_to,
       .at_ns = with_.links.path().last_sent_ns(),
       .peer = link.peer(),
       .rank = envelope.rank,
       .length = static_cast<std::uint32_t>(payload.size()),
       .flags = static_cast<std::uint16_t>(envelope.flags & kRowFlags),
       .trace = extension == nullptr ? nullptr : extension->trace,
       .type = envelope.type.empty() ? shm::TypeWords() : shm::type_words(envelope.type)},
      shown);
}

void Recorder::note_taken(shm::EntryIndex entry, bool is_fresh) {
  const std::int64_t sent_ns = with_.receiver.entry(entry).header.sent_ns;
  const std::int64_t known_ns = is_fresh ? with_.receiver.time() : -1;
  note(entry, shm::HistoryEvent::kTaken, shm::DeadReason::kNone,
       known_ns >= sent_ns ? known_ns : os::coarse_ns());
}

void Recorder::note_end(shm::EntryIndex entry, shm::HistoryEvent event, shm::DeadReason reason) {
  note(entry, event, reason, os::coarse_ns());
}

inline void Recorder::note(shm::EntryIndex entry, shm::HistoryEvent event, shm::DeadReason reason,
                           std::int64_t at_ns) {
  Ring& own = ring(shm::HistoryRing::kOwn);
  if (!has_room(own)) return;
  own.writer.begin();
  // An end shows no payload again.
  const bool is_taken = event == shm::HistoryEvent::kTaken;
  const bool shows = is_taken && level_ == shm::HistoryLevel::kPreviews;
  const std::size_t shown = shows ? put_preview(entry) : 0;
  const shm::Entry& message = with_.receiver.entry(entry);
  const shm::MessageHeader& header = message.header;
  const unsigned char* trace = nullptr;
  std::uint64_t cause = 0;
  if (shm::extension_bytes(header) != 0) {
    std::memcpy(&cause, message.area() + offsetof(shm::Extension, cause), sizeof(cause));
    trace = message.area() + offsetof(shm::Extension, trace);
  }
  own.writer.finish(
      {.event = event,
       .reason = static_cast<std::uint8_t>(reason),
       .id = header.id,
       .cause = cause != 0 ? cause : header.reply_to,
       .reply_to = header.reply_to,
       .at_ns = at_ns,
       .peer = shm::pid_of_message(header.id),
       .rank = header.rank,
       .length = header.length,
       .flags = static_cast<std::uint16_t>(header.flags & kRowFlags),
       .trace = trace,
       .type = header.type == 0 ? shm::TypeWords()
                                : shm::type_words(with_.receiver.entries().own_type(entry))},
      shown);
}

std::size_t Recorder::put_preview(shm::EntryIndex entry) {
  return ring(shm::HistoryRing::kOwn).writer.put_preview(with_.receiver.payload(entry));
}

bool Recorder::make_room(Ring& ring) {
  const std::uint64_t slot = ring.writer.position() % shm::kHistoryRowCount;
  const shm::HistoryRing which = ring.writer.ring();
  const bool shows = level_ == shm::HistoryLevel::kPreviews;
  if (slot >= ring.rows) {
    const std::uint32_t rows = ring.rows == 0 ? kFirstRows : ring.rows * kGrowth;
    if (!segment_.allocate(Layout::rows_of(which), rows * sizeof(shm::HistoryRow))) return false;
    ring.rows = rows;
  }
  if (shows && slot >= ring.previews) {
    const std::uint64_t bytes = ring.rows * shm::kPreviewBytes;
    if (!segment_.allocate(Layout::previews_of(which), bytes)) return false;
    ring.previews = ring.rows;
  }
  const std::uint32_t known = shows ? std::min(ring.rows, ring.previews) : ring.rows;
  ring.end = known == shm::kHistoryRowCount ? std::numeric_limits<std::uint64_t>::max() : known;
  return true;
}

}  // namespace beeline
