#include "src/receive/intake.h"

#include <cstring>
#include <utility>

#include "shm/extension.h"
#include "src/receive/slot_check.h"

namespace beeline::receive {

Intake::Intake(const IntakeDesks& desks)
    : entries_(desks.entries),
      kept_(desks.kept),
      orders_(desks.orders),
      answers_(desks.answers),
      expiry_(desks.expiry),
      turns_(desks.turns),
      ranks_by_relation_(entries_.control().rank_rule ==
                         static_cast<std::uint32_t>(shm::RankRule::kByRelation)) {}

// ---- From the lane into the table ---------------------------------------------------------------

void Intake::begin_lane(const InLink& link, shm::Lane lane) {
  const bool may_take = lane == shm::Lane::kNormal && turns_.has_turn(link);
  spare_ = may_take ? entries_.inbox().plain_room() : 0;
}

// The relation decides how urgent a message may be, see rank_of(). An agent takes orders from those
// above it. Any sender may take back its own messages.
void Intake::judge(InLink& link, shm::MessageHeader& header) const {
  if (is_order(header) && !link.is_superior() &&
      link.known_type(header.type) != KnownType::kCancel) {
    header.flags = static_cast<std::uint16_t>(header.flags & ~shm::kFlagControl);
  }
  const bool is_shown = ranks_by_relation_ && is_copy(header);
  header.rank = is_shown ? kLow : rank_of(link, header.rank, header.type);
}

// SUBTLE: by values, so that the words stay in registers.
bool Intake::prepare_slab(const InLink& link, shm::SlabIndex slab, std::uint64_t generation) {
  if (!link.sink().valid()) return true;
  if (!ensure_stamps(link.sink())) return false;
  if (link.has_old_stamps()) {
    shm::withdraw_stamp(link.sink().own->stamp(link.sink().bank, slab), generation);
  }
  return true;
}

bool Intake::put_next(InLink& link, shm::Lane lane) {
  const std::uint64_t position = link.position(lane);
  const shm::Slot& slot = link.next_slot(lane);
  if (!shm::is_published(slot, position)) return false;
  if (spare_ != 0) {
    --spare_;
  } else if (!make_room(link, lane)) {
    if (lane == shm::Lane::kUrgent) orders_.note_in_lane(link);
    return false;
  }
  const shm::HeaderWords words(slot);
  if (words.reply_to() == 0 && is_simple(link, words)) [[likely]] {
    if (!prepare(link, words)) return false;
    prefetch_first(link, words);
    entries_.inbox().put_simple(words, slot, link.row(), lane, position,
                                time_sent(link, words.sent_ns()),
                                rank_of(link, words.rank(), words.type()));
  } else if (!put_special(link, lane, slot, words)) {
    return false;
  }
  link.refer();
  link.advance(lane);
  return true;
}

// A message that asks for more than to be put.
bool Intake::put_special(InLink& link, shm::Lane lane, const shm::Slot& slot,
                         shm::HeaderWords words) {
  shm::SlotCopy copy;
  words.store(copy.header, words.sent_ns(), words.rank(), 0);
  copy.generation = words.generation();
  if (check(entries_, link, copy.header, copy.generation) != Verdict::kGood) return false;
  shm::copy_area(slot, copy);
  if (is_cancel_order(link, copy.header)) {
    orders_.forget_in_lane(link);
    if (!orders_.has_room(link)) return false;
  }
  if (!prepare(link, words)) return false;
  prefetch_first(link, words);
  const std::int64_t sent = time_sent(link, copy.header.sent_ns);
  judge(link, copy.header);
  PendingReply* waiting = nullptr;
  const std::uint16_t mark = mark_for(link, copy, sent, waiting);
  const std::uint64_t position = link.position(lane);
  const shm::EntryIndex at = entries_.inbox().put(copy, link.row(), lane, position, sent, mark);
  if (waiting != nullptr) waiting->set(entries_.entry(at).header, at);
  if (copy.header.ttl_ms != 0) expiry_.note(entries_.entry(at));
  note_put(at, mark);
  return true;
}

bool Intake::make_room(InLink& link, shm::Lane lane) {
  const bool urgent = lane == shm::Lane::kUrgent;
  const shm::Room room = urgent ? shm::Room::kCritical : shm::Room::kNormal;
  const bool next = urgent || turns_.has_turn(link);
  if (next && entries_.home().make_room(room)) return true;
  if (next && entries_.inbox().copies() != 0) {
    entries_.commit(link, lane);  // no payload is given back before its message is in the home
    if (drop_copies() && entries_.home().make_room(room)) return true;
  }
  const shm::Room awaited = room_for_awaited(link, lane);
  const bool is_awaited = awaited != shm::Room::kNormal;
  if (is_awaited && entries_.home().make_room(awaited)) return true;
  if (next && orders_.release(room) && entries_.home().make_room(room)) return true;
  if (is_awaited && orders_.release(awaited) && entries_.home().make_room(awaited)) return true;
  lacks_room_ = true;
  if (!urgent) turns_.wait(link);
  return false;
}

// The room that the next message of a lane may have because of its kind or of the messages behind
// it: the messages before an order of somebody above are let in with it; the messages before an
// answer that a request waits for, or before a task, leave the orders their share.
shm::Room Intake::room_for_awaited(const InLink& link, shm::Lane lane) const {
  if (!link.is_superior() && answers_.nobody_waits()) return shm::Room::kNormal;
  shm::Room room = shm::Room::kNormal;
  const std::uint64_t first = link.position(lane);
  for (std::uint64_t at = first; at < first + link.view().capacity(lane); ++at) {
    const shm::Slot& slot = link.view().slot(lane, at);
    if (!shm::is_published(slot, at)) break;
    const auto header = slot.header.load<shm::MessageHeader>();
    if (link.is_superior() && is_order(header)) return shm::Room::kControl;
    if (link.is_superior() && kind_of(slot, header) == shm::MessageKind::kTask) {
      room = shm::Room::kCritical;
      continue;
    }
    const PendingReply* waiting = answers_.waiting_for(link.owner_pid(), header);
    if (waiting == nullptr || has_expired(header, time_sent(link, header.sent_ns))) continue;
    if (at == first && waiting->is_blocking) return shm::Room::kControl;  // it is taken at once
    room = shm::Room::kCritical;
  }
  return room;
}

// ---- The mark of a message ----------------------------------------------------------------------

// An answer goes to the request that waits for it. An answer that no request waits for is stashed
// when it answers a question of ours, or says that it is an answer; so is an acknowledgement. An
// order to cancel is never handed out, nor is a task, a word about one, or a copy that an agent
// other than a child shows; any other order always is. An expired message answers nothing.
std::uint16_t Intake::mark_for(InLink& link, const shm::SlotCopy& copy, std::int64_t sent_ns,
                               PendingReply*& waiting) {
  const shm::MessageHeader& header = copy.header;
  if (is_cancel_order(link, header)) return shm::kFlagStashed;
  if (is_copy(header)) return may_show(link, copy) ? 0 : shm::kFlagStashed;
  if (kind_of(copy) != shm::MessageKind::kOrdinary) return shm::kFlagStashed;
  if (header.reply_to == 0 || is_order(header) || has_expired(header, sent_ns)) return 0;
  waiting = answers_.waiting_for(link.owner_pid(), header);
  if (waiting != nullptr) {
    if (!waiting->for_ack) answers_.remember_asked(*waiting);
    return shm::kFlagMatched;
  }
  if (is_ack(header)) return shm::kFlagStashed;
  if (nobody_asked(link, header.reply_to, header.type)) return 0;
  if (answers_.close(header.reply_to, link.owner_pid())) return shm::kFlagStashed;
  auto& late = entries_.control().counters.late_replies;
  late.relaxed_store(late.relaxed_load() + 1);
  return shm::kFlagStashed | shm::kFlagUnasked;
}

// An answer is in the stash at once, so that an order to cancel finds it there.
void Intake::note_put(shm::EntryIndex at, std::uint16_t mark) {
  orders_.note_put(at);
  if ((mark & shm::kFlagStashed) == 0) return;
  const shm::MessageHeader& header = entries_.entry(at).header;
  if (is_copy(header) || entries_.entry(at).ends_question()) {
    unwanted_.push_back(at);
  } else if (entries_.entry(at).kind() > shm::MessageKind::kTask) {
    note_report(at);
  } else if (is_order(header)) {
    orders_.add(at);
  } else if ((header.flags & shm::kFlagUnasked) != 0 &&
             answers_.was_task(header.reply_to, entries_.sender_of(at))) {
    unwanted_.push_back(at);
  } else {
    kept_.add_new(at);
  }
}

// A word about a task that nobody waits for is let go.
void Intake::note_report(shm::EntryIndex at) {
  const std::uint64_t task = entries_.entry(at).header.reply_to;
  PendingReply* const waiting = answers_.waiting_for(entries_.sender_of(at), task, false);
  if (waiting == nullptr || !waiting->is_task) return unwanted_.push_back(at);
  ++waiting->reports;
  kept_.add_new(at);
}

void Intake::settle() {
  for (const shm::EntryIndex at : std::exchange(unwanted_, {})) {
    entries_.inbox().take_unindexed(at);
    if (is_copy(entries_.entry(at).header)) {
      entries_.drop_copy(at);
    } else {
      entries_.done(at);
    }
  }
  if (!orders_.empty()) orders_.obey_all(0);
  kept_.settle();
}

// Orders are obeyed later: before its commit a successor finishes nothing.
void Intake::adopt_entries() {
  std::vector<shm::EntryIndex> found;
  for (shm::EntryIndex at(0); at.value() < entries_.table().entries_allocated(); ++at) {
    const bool queued = entries_.entry(at).word().state == shm::EntryState::kQueued;
    if (queued) expiry_.note(entries_.entry(at));
    if (queued && (entries_.entry(at).header.flags & shm::kFlagStashed) != 0) found.push_back(at);
  }
  std::sort(found.begin(), found.end(), [this](shm::EntryIndex a, shm::EntryIndex b) {
    return entries_.entry(a).arrival < entries_.entry(b).arrival;
  });
  for (const shm::EntryIndex at : found) note_put(at, shm::kFlagStashed);
}

// ---- Copies of messages between children --------------------------------------------------------

// A child shows copies of messages that it has sent itself.
bool Intake::may_show(const InLink& link, const shm::SlotCopy& copy) {
  if (link.relation() != Relation::kChild || shm::extension_bytes(copy.header) == 0) return false;
  shm::Extension extension;
  std::memcpy(&extension, copy.payload, sizeof(extension));
  return shm::pid_of_message(extension.cause) == link.owner_pid();
}

// True when there were any.
bool Intake::drop_copies() {
  constexpr std::size_t kMost = 32;  // at a time
  std::vector<shm::EntryIndex> copies;
  entries_.inbox().index().for_each([&](const shm::IndexNode& node) {
    if (is_copy(entries_.entry(node.entry()).header)) copies.push_back(node.entry());
    return copies.size() < kMost;
  });
  for (const shm::EntryIndex at : copies) {
    entries_.inbox().take(at);
    entries_.drop_copy(at);
  }
  return !copies.empty();
}

// ---- The clock ----------------------------------------------------------------------------------

void Intake::note_all_empty(std::int64_t now_ns) {
  all_empty_ns_ = now_ns;
  entries_.control().all_empty_ns.relaxed_store(now_ns);
}

}  // namespace beeline::receive
