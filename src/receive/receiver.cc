#include "src/receive/receiver.h"

#include <algorithm>
#include <utility>

#include "src/os/clock.h"
#include "src/receive/rank.h"

namespace beeline::receive {

namespace {

constexpr std::uint32_t kBudget = 32;    // messages of one lane in one turn
constexpr std::size_t kActiveLinks = 8;  // looked at every turn
constexpr std::size_t kSliceLinks = 32;  // of the others, each turn

}  // namespace

Receiver::Receiver(std::unique_ptr<HomeMemory> home) : home_(std::move(home)) {
  const shm::HomeControl& control = home_->home().control();
  fifo_ = control.policy == static_cast<std::uint32_t>(shm::OrderPolicy::kFifo);
  ranks_by_relation_ = control.rank_rule == static_cast<std::uint32_t>(shm::RankRule::kByRelation);
}

InLink& Receiver::add(std::unique_ptr<InLink> link) {
  for (const auto& other : links_) {
    if (other->owner_pid == link->owner_pid && other->key.incarnation < link->key.incarnation &&
        (link->older == nullptr || link->older->key.incarnation < other->key.incarnation)) {
      link->older = other.get();
    }
  }
  if (rows_.size() <= link->row) rows_.resize(link->row + 1U, nullptr);
  rows_[link->row] = link.get();
  links_.insert(links_.begin(), std::move(link));
  return *links_.front();
}

InLink* Receiver::find(const shm::LinkKey& key) {
  for (const auto& link : links_) {
    if (link->key == key) return link.get();
  }
  return nullptr;
}

void Receiver::remove(InLink& link) {
  const shm::Home& home = home_->home();
  shm::close_row(home.control(), home.row(link.row));
  close_receipts(link);
  rows_[link.row] = nullptr;
  for (const auto& other : links_) {
    if (other->older == &link) other->older = link.older;
  }
  std::erase(quarantined_, &link);
  std::erase_if(links_, [&](const auto& other) { return other.get() == &link; });
}

void Receiver::close_receipts(InLink& link) {
  if (link.sink.valid()) shm::close_bank(link.sink.own->bank(link.sink.bank));
  link.sink = {};
}

bool Receiver::drain_turn() {
  bool taken = false;
  const std::size_t active = std::min(links_.size(), kActiveLinks);
  // Another one is first each time: when the table is full, the first gets what room there is.
  for (std::size_t i = 0; i < active; ++i) {
    taken |= drain(*links_[(first_ + i) % active], kBudget);
  }
  ++first_;
  if (links_.size() <= active) return taken;
  const std::size_t others = links_.size() - active;
  for (std::size_t i = 0; i < std::min(others, kSliceLinks); ++i) {
    slice_ = slice_ + 1 < others ? slice_ + 1 : 0;
    if (drain(*links_[active + slice_], kBudget)) {
      taken = true;
      move_to_front(active + slice_);
    }
  }
  return taken;
}

bool Receiver::drain_all() {
  bool taken = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!drain(*links_[i], kBudget)) continue;
    taken = true;
    if (i >= kActiveLinks) move_to_front(i);
  }
  return taken;
}

void Receiver::move_to_front(std::size_t at) {
  const auto from = links_.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(links_.begin(), from, from + 1);
}

bool Receiver::drain(InLink& link, std::uint32_t budget) {
  if (!link.has_message() || !link.open()) return false;
  const std::uint32_t normal_budget = link.rate.on() ? tokens_of(link, budget) : budget;
  const std::uint64_t before = link.position[static_cast<std::size_t>(shm::Lane::kNormal)];
  std::uint32_t count = 0;
  if (fifo_) {
    count = drain_merged(link, budget, normal_budget);
  } else {
    count = drain_lane(link, shm::Lane::kUrgent, budget);
    count += drain_lane(link, shm::Lane::kNormal, normal_budget);
  }
  if (count == 0) return false;
  settle_put();
  if (link.rate.on()) {
    const auto taken = link.position[static_cast<std::size_t>(shm::Lane::kNormal)] - before;
    link.rate.take(os::coarse_ns(), static_cast<std::uint32_t>(taken));
  }
  link.received += count;
  ring_for_space(link);
  if (!link.has_message()) note_empty(link);
  return true;
}

std::uint32_t Receiver::drain_lane(InLink& link, shm::Lane lane, std::uint32_t budget) {
  std::uint32_t count = 0;
  while (count < budget && put_next(link, lane)) ++count;
  if (count != 0) commit(link, lane);
  return count;
}

// How many messages of its normal lane the rate allows now.
std::uint32_t Receiver::tokens_of(InLink& link, std::uint32_t budget) {
  const std::uint32_t tokens = link.rate.available(os::coarse_ns());
  link.held_back = tokens == 0;
  return std::min(budget, tokens);
}

std::int64_t Receiver::next_token_ns() const {
  const std::int64_t now = os::coarse_ns();
  std::int64_t next = kNever;
  for (const auto& link : links_) {
    if (!link->held_back || !link->open() || !link->has_message(shm::Lane::kNormal)) continue;
    next = std::min(next, now + link->rate.ns_until(now));
  }
  return next;
}

// A fifo inbox takes both lanes in the order in which the sender sent, as long as the rate allows;
// then the urgent one alone.
std::uint32_t Receiver::drain_merged(InLink& link, std::uint32_t budget,
                                     std::uint32_t normal_budget) {
  std::uint32_t count = 0;
  for (; count < budget; ++count) {
    const auto lane = normal_budget != 0 ? next_in_order(link) : std::optional(shm::Lane::kUrgent);
    if (!lane || !put_next(link, *lane)) break;
    commit(link, *lane);
    if (*lane == shm::Lane::kNormal) --normal_budget;
  }
  return count;
}

// SUBTLE: each lane is looked at after the other was seen to hold a message. Whatever was sent
// before that message is visible then, and a single look at each would miss it.
std::optional<shm::Lane> Receiver::next_in_order(const InLink& link) {
  bool normal = link.has_message(shm::Lane::kNormal);
  const bool urgent = link.has_message(shm::Lane::kUrgent);
  if (!urgent) return normal ? std::optional(shm::Lane::kNormal) : std::nullopt;
  if (!normal) normal = link.has_message(shm::Lane::kNormal);
  if (!normal) return shm::Lane::kUrgent;
  const auto number_at = [&](shm::Lane lane) {
    const auto& slot = link.view.slot(lane, link.position[static_cast<std::size_t>(lane)]);
    return shm::counter_of_message(slot.header.words[0].relaxed_load());
  };
  return number_at(shm::Lane::kNormal) < number_at(shm::Lane::kUrgent) ? shm::Lane::kNormal
                                                                       : shm::Lane::kUrgent;
}

bool Receiver::put_next(InLink& link, shm::Lane lane) {
  std::uint64_t& position = link.position[static_cast<std::size_t>(lane)];
  const shm::Slot& slot = link.view.slot(lane, position);
  if (!shm::is_published(slot, position)) return false;
  if (!make_room(link, lane)) return false;
  shm::SlotCopy copy;
  shm::copy_slot(slot, copy);
  const Verdict verdict = check(link, copy);
  if (verdict == Verdict::kBad) quarantine(link);
  if (verdict != Verdict::kGood) return false;
  const bool in_slab = (copy.header.flags & shm::kFlagSlab) != 0;
  if (in_slab && link.sink.valid() && !ensure_stamps(link.sink)) return false;
  clock_ns_ = os::coarse_ns();
  const bool was_known = link.known_since_ns <= all_empty_ns_;
  const std::int64_t earliest =
      was_known ? std::max(link.seen_empty_ns, all_empty_ns_) : link.seen_empty_ns;
  const std::int64_t sent =
      std::clamp(copy.header.sent_ns, earliest, std::max(earliest, clock_ns_));
  judge(link, copy);
  PendingReply* waiting = nullptr;
  const std::uint16_t mark = mark_for(link, copy.header, waiting);
  const std::uint32_t at = home_->inbox().put(copy, link.row, lane, position, sent, mark);
  if (waiting != nullptr) waiting->entry = at;
  note_put(at, mark);
  ++link.live;
  ++position;
  return true;
}

// The relation decides how urgent a message may be, and who may steer whom: whoever is above. Any
// sender may take back what it has sent.
void Receiver::judge(InLink& link, shm::SlotCopy& copy) const {
  shm::MessageHeader& header = copy.header;
  if (!ranks_by_relation_ && (header.flags & shm::kFlagControl) == 0) return;
  const KnownType type = link.known_type(header.type);
  if (!link.is_superior && type != KnownType::kCancel) {
    header.flags = static_cast<std::uint16_t>(header.flags & ~shm::kFlagControl);
  }
  if (!ranks_by_relation_) return;
  const bool copied = (header.flags & shm::kFlagCopy) != 0;
  header.rank =
      copied ? kLow : stored_rank(header.rank, link.relation, type == KnownType::kEscalation);
}

bool Receiver::make_room(InLink& link, shm::Lane lane) {
  const shm::Room room = lane == shm::Lane::kUrgent ? shm::Room::kCritical : shm::Room::kNormal;
  if (home_->make_room(room)) return true;
  if (home_->inbox().copies() != 0) {
    commit(link, lane);  // no payload is given back before its message is in the home
    if (drop_copies() && home_->make_room(room)) return true;
  }
  return is_awaited(link, lane) && home_->make_room(shm::Room::kControl);
}

// Whether a control message of somebody above, or an answer that somebody waits for, lies in the
// lane: what lies before it is let in with it.
bool Receiver::is_awaited(const InLink& link, shm::Lane lane) const {
  if (!link.is_superior && answers_.nobody_waits()) return false;
  const std::uint64_t first = link.position[static_cast<std::size_t>(lane)];
  for (std::uint64_t at = first; at < first + link.view.capacity(lane); ++at) {
    const shm::Slot& slot = link.view.slot(lane, at);
    if (!shm::is_published(slot, at)) return false;
    const auto header = slot.header.load<shm::MessageHeader>();
    if (link.is_superior && (header.flags & shm::kFlagControl) != 0) return true;
    if (answers_.waiting_for(link.owner_pid, header) != nullptr) return true;
  }
  return false;
}

Receiver::Verdict Receiver::check(InLink& link, const shm::SlotCopy& copy) {
  shm::SlotFault fault = shm::check_slot(copy, link.owner_pid, link.view.layout(), link.verified);
  if (fault == shm::SlotFault::kBadSlab || fault == shm::SlotFault::kBadString) {
    const Extents found = verify_extents(link);
    if (found == Extents::kNotNow) return Verdict::kNotNow;
    if (found == Extents::kLie) return Verdict::kBad;
    fault = shm::check_slot(copy, link.owner_pid, link.view.layout(), link.verified);
  }
  return fault == shm::SlotFault::kNone ? Verdict::kGood : Verdict::kBad;
}

void Receiver::commit(InLink& link, shm::Lane lane) {
  const auto index = static_cast<std::size_t>(lane);
  home_->inbox().commit(link.row, lane, link.position[index]);
  if (!link.sink.valid()) return;
  // SYNC(lane.receipt): release, pairs with LaneWriter::refresh(). After the home: a receipt never
  // promises more than the home holds.
  link.sink.own->bank(link.sink.bank).cursors[index].publish(link.position[index]);
}

// The time is that of the last message: before the look that found nothing more.
void Receiver::note_empty(InLink& link) {
  if (!waiting_orders_.empty()) finish_orders_of(link);
  link.seen_empty_ns = clock_ns_;
  home_->home().row(link.row).seen_empty_ns.relaxed_store(link.seen_empty_ns);
}

void Receiver::ring_for_space(const InLink& link) {
  // SYNC(link.space): pairs with the fence of the sender between its space word and its last look
  // at the receipts.
  shm::full_fence();
  if (link.view.control().space.relaxed_load() != 0) static_cast<void>(wake::ring(link.bell));
}

void Receiver::ring_all_for_space() {
  for (const auto& link : links_) ring_for_space(*link);
}

void Receiver::quarantine(InLink& link) {
  link.quarantined = true;
  add_one(home_->home().control().counters.bad_slots);
  quarantined_.push_back(&link);
}

void Receiver::note_all_empty(std::int64_t now_ns) {
  all_empty_ns_ = now_ns;
  home_->home().control().all_empty_ns.relaxed_store(now_ns);
}

std::vector<InLink*> Receiver::take_quarantined() { return std::exchange(quarantined_, {}); }

bool Receiver::all_empty() const {
  return std::none_of(links_.begin(), links_.end(),
                      [](const auto& link) { return link->holds_messages(); });
}

bool Receiver::has_urgent() const {
  if (home_->inbox().critical() != 0) return true;
  return std::any_of(links_.begin(), links_.end(), [](const auto& link) {
    return link->open() && link->has_message(shm::Lane::kUrgent);
  });
}

// Whoever revived a dead letter wants it delivered, late or not.
bool Receiver::has_expired(const shm::Entry& entry) {
  if (entry.is_revived()) return false;
  const std::int64_t life_ns = std::int64_t{entry.header.ttl_ms} * 1'000'000;
  return life_ns != 0 && os::coarse_ns() > entry.header.sent_ns + life_ns;
}

// True when the entry must not be handed out; it is a dead letter then. The entry is leased.
bool Receiver::drop_unfit(std::uint32_t at) {
  const shm::Entry& entry = home_->home().entry(at);
  if ((entry.header.flags & shm::kFlagCopy) != 0 && entry.word().attempts != 0) {
    drop_copy(at);  // a copy is looked at once
    return true;
  }
  if (has_expired(entry)) {
    bury(at, shm::DeadReason::kExpired);
    return true;
  }
  if (entry.header.hops > home_->home().control().max_hops && !entry.is_revived()) {
    bury(at, shm::DeadReason::kLoop);
    return true;
  }
  if (entry.word().attempts >= home_->home().control().max_attempts) {
    bury(at, shm::DeadReason::kExhausted);
    return true;
  }
  return false;
}

std::uint32_t Receiver::take() {
  shm::Inbox& inbox = home_->inbox();
  for (;;) {
    const std::uint32_t at = inbox.best();
    if (at == shm::kNoEntry) return at;
    inbox.take_best(at);
    if (!drop_unfit(at)) return at;
  }
}

std::uint32_t Receiver::take_reply(PendingReply& pending) {
  const std::uint32_t at = std::exchange(pending.entry, shm::kNoEntry);
  home_->inbox().take_unindexed(at);
  return at;
}

void Receiver::done(std::uint32_t at) {
  const std::uint32_t row = home_->home().entry(at).word().row;
  shm::Atomic<std::uint64_t>* stamp = stamp_word(at);
  home_->inbox().done(at, stamp);
  // A sender may wait for a slab as it waits for a slot.
  if (stamp != nullptr) ring_for_space(*rows_[row]);
  unrefer(row);
}

void Receiver::requeue(std::uint32_t at) {
  const bool cancelled = is_cancelled(at);
  home_->inbox().requeue(at);
  const bool stashed = (entry(at).header.flags & shm::kFlagStashed) != 0;
  if (stashed) stash_.push_back(at);
  if (cancelled) static_cast<void>(cancel(entry(at).header.id));
}

void Receiver::bury(std::uint32_t at, shm::DeadReason reason) {
  const shm::MessageHeader& header = entry(at).header;
  const bool asked = (header.flags & shm::kFlagRequiresAck) != 0;
  if (asked && reason != shm::DeadReason::kRejected) refused_.push_back({header.id, reason});
  home_->inbox().bury(at, reason);
  keep_dead_letters_bounded();
}

void Receiver::keep_dead_letters_bounded() {
  while (home_->inbox().dead() > shm::kMaxDeadLetters) {
    const std::uint32_t at = home_->inbox().oldest_dead();
    if (at == shm::kNoEntry) return;
    purge_dead(at);
  }
}

std::uint32_t Receiver::find_dead(std::uint64_t id) const {
  const shm::Home& home = home_->home();
  for (std::uint32_t at = 0; at < home.entries_allocated(); ++at) {
    const shm::Entry& found = home.entry(at);
    if (found.word().state == shm::EntryState::kDead && found.header.id == id) return at;
  }
  return shm::kNoEntry;
}

void Receiver::revive(std::uint32_t at) { home_->inbox().revive(at); }

void Receiver::purge_dead(std::uint32_t at) {
  const std::uint32_t row = home_->home().entry(at).word().row;
  shm::Atomic<std::uint64_t>* stamp = stamp_word(at);
  home_->inbox().purge(at, stamp);
  if (stamp != nullptr) ring_for_space(*rows_[row]);
  unrefer(row);
}

void Receiver::unrefer(std::uint32_t row) {
  if (row < rows_.size() && rows_[row] != nullptr && rows_[row]->live != 0) --rows_[row]->live;
}

InLink* Receiver::link_of(std::uint32_t at) const {
  const std::uint32_t row = entry(at).word().row;
  return row < rows_.size() ? rows_[row] : nullptr;
}

shm::Atomic<std::uint64_t>* Receiver::stamp_word(std::uint32_t at) {
  if (!entry(at).in_slab()) return nullptr;
  InLink* link = link_of(at);
  if (link == nullptr || !link->sink.valid() || !ensure_stamps(link->sink)) return nullptr;
  return &link->sink.own->stamp(link->sink.bank, entry(at).header.slab);
}

std::span<const std::byte> Receiver::payload(std::uint32_t at) const {
  const shm::Entry& found = entry(at);
  if (!found.in_slab()) {
    return {reinterpret_cast<const std::byte*>(found.inline_payload()), found.header.length};
  }
  const InLink* link = link_of(at);
  if (link == nullptr) return {};
  return {link->view.slab(found.header.slab), found.header.length};
}

shm::StringCopy Receiver::string_of(std::uint32_t at, std::uint16_t number) const {
  const InLink* link = number == 0 ? nullptr : link_of(at);
  if (link == nullptr || number > link->verified.strings) return {};
  return shm::read_string(link->view, number);
}

TypeText Receiver::type(std::uint32_t at) const {
  TypeText type;
  const auto append = [&](std::string_view part) {
    std::copy(part.begin(), part.end(), type.text + type.length);
    type.length = static_cast<unsigned char>(type.length + part.size());
  };
  if ((entry(at).header.flags & shm::kFlagCopy) != 0) append(kSiblingTraffic);
  append(string_of(at, entry(at).header.type).view());
  return type;
}

shm::StringCopy Receiver::channel(std::uint32_t at) const {
  return string_of(at, entry(at).header.channel);
}

}  // namespace beeline::receive
