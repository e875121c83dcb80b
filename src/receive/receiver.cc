#include "src/receive/receiver.h"

#include <algorithm>
#include <utility>

#include "shm/handover.h"
#include "src/os/clock.h"

namespace beeline::receive {

namespace {

// Of what was written over in a lane, in one audit: its owner may go on with that for ever.
constexpr std::uint32_t kMostSkipped = 1024;

}  // namespace

Receiver::Receiver(std::unique_ptr<HomeMemory> home)
    : home_(std::move(home)),
      budget_(drain_budget(home_->home().capacity())),
      few_places_(std::min(budget_, home_->home().capacity() / 8) / 2) {
  const shm::HomeControl& control = home_->home().control();
  fifo_ = control.policy == static_cast<std::uint32_t>(shm::OrderPolicy::kFifo);
  ranks_by_relation_ = control.rank_rule == static_cast<std::uint32_t>(shm::RankRule::kByRelation);
}

InLink& Receiver::add(std::unique_ptr<InLink> added) {
  InLink& link = *added;
  link.reader_life = home_->home().header().owner_incarnation;
  index_.add(link);
  if (rows_.size() <= link.row) rows_.resize(link.row + 1U, nullptr);
  rows_[link.row] = &link;
  link.place = links_.size();
  links_.push_back(std::move(added));
  urgent_.emplace_back();
  watch_urgent(link);
  swap_links(link.place, looked_at_++);
  // One whose owner has ended already keeps its turn behind those of earlier lives.
  if (!link.owner_gone || link.has_message(shm::Lane::kUrgent)) {
    swap_links(link.place, watched_++);
    move_to_front(link.place);
  }
  most_slots_ = std::max(most_slots_, link.view.capacity(shm::Lane::kNormal));
  owners_.add(link);
  return link;
}

void Receiver::swap_links(std::size_t a, std::size_t b) {
  std::swap(links_[a], links_[b]);
  std::swap(urgent_[a], urgent_[b]);
  links_[a]->place = a;
  links_[b]->place = b;
}

void Receiver::arrange(InLink& link) {
  owners_.sort(link);
  const bool is_watched = !link.owner_gone || link.has_message(shm::Lane::kUrgent);
  const bool is_looked_at = is_watched || link.holds_messages() || link.queued;
  if (!is_watched && link.place < watched_) swap_links(link.place, --watched_);
  if (!is_looked_at && link.place < looked_at_) {
    index_.pass_over(link);
    swap_links(link.place, --looked_at_);
  }
  if (is_looked_at && link.place >= looked_at_) swap_links(link.place, looked_at_++);
  if (is_watched && link.place >= watched_) swap_links(link.place, watched_++);
}

bool Receiver::remove(InLink& link) {
  if (link.live != 0) return false;  // their row would become another link's
  const shm::Home& home = home_->home();
  shm::close_row(home.control(), home.row(link.row));
  home_->note_vacant(link.row);
  close_receipts(link);
  rows_[link.row] = nullptr;
  index_.remove(link);
  owners_.remove(link);
  if (link.quarantined()) --quarantined_;
  if (link.queued) std::erase(queue_, &link);
  std::erase_if(orders_, [&](const CancelOrder& order) { return order.row == link.row; });
  if (link.place < watched_) swap_links(link.place, --watched_);
  if (link.place < looked_at_) swap_links(link.place, --looked_at_);
  swap_links(link.place, links_.size() - 1);
  urgent_.pop_back();
  links_.pop_back();
  return true;
}

void Receiver::close_receipts(InLink& link) {
  if (link.sink.valid()) shm::close_bank(link.sink.own->bank(link.sink.bank));
  link.sink = {};
}

void Receiver::quarantine(InLink& link, const char* fault) {
  if (link.quarantined()) return;
  link.fault = fault;
  ++quarantined_;
  owners_.call(link);
  add_one(home_->home().control().counters.bad_slots);
}

void Receiver::audit_lanes() {
  skipping_ = false;
  for (InLink* link : owners_.living()) audit(*link);
}

bool Receiver::audit(InLink& link) {
  if (!link.may_send || link.fading) return false;
  const bool skipped_before = std::exchange(skipping_, false);
  if (link.may_hear_others && link.is_heard()) note_turn(link);
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    if (!link.quarantined() && !link.is_a_successors()) audit_lane(link, lane);
  }
  return std::exchange(skipping_, skipping_ || skipped_before);
}

// What its owner has heard of others it had sent by now, and beyond that it writes over nothing.
void Receiver::note_turn(InLink& link) {
  link.may_hear_others = false;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    link.taken_by_others[static_cast<std::size_t>(lane)] = shm::published_ever(link.view, lane);
  }
}

void Receiver::audit_lane(InLink& link, shm::Lane lane) {
  const std::uint64_t at = link.position[static_cast<std::size_t>(lane)];
  // relaxed: a number alone; nothing is read because of it.
  const std::uint64_t commit = link.view.slot(lane, at).commit.relaxed_load();
  const std::uint32_t capacity = link.view.capacity(lane);
  if (shm::is_possible_commit(commit, at, capacity)) return;
  if (shm::is_later_commit(commit, at, capacity) && skip_overwritten(link, lane)) return;
  quarantine(link, "a commit number that cannot be");
}

// A life before ours that was fenced and still ran can have told the sender that it took more than
// we knew when we took over. What it took was written over, and counts as done. False: no life
// before ours can have taken it.
bool Receiver::skip_overwritten(InLink& link, shm::Lane lane) {
  const auto index = static_cast<std::size_t>(lane);
  const std::uint64_t at = link.position[index];
  const std::uint64_t next = shm::skip_overwritten(link.view, lane, at, kMostSkipped);
  if (next > link.taken_by_others[index]) return false;
  link.position[index] = next;
  commit(link, lane);
  home_->inbox().count_done(next - at);
  skipping_ |= next - at >= kMostSkipped;
  return true;
}

void Receiver::note_all_empty(std::int64_t now_ns) {
  all_empty_ns_ = now_ns;
  home_->home().control().all_empty_ns.relaxed_store(now_ns);
}

bool Receiver::all_empty() const {
  return std::none_of(links_.begin(), end_of(looked_at_),
                      [](const auto& link) { return link->holds_messages(); });
}

bool Receiver::has_urgent() const { return home_->inbox().critical() != 0 || has_urgent_lane(); }

bool Receiver::has_urgent_lane() const {
  return std::any_of(links_.begin(), end_of(watched_), [](const auto& link) {
    return link->has_message(shm::Lane::kUrgent) && link->open();
  });
}

// Whoever revived a dead letter wants it delivered, late or not.
bool Receiver::has_expired(const shm::Entry& entry) {
  return !entry.is_revived() && has_expired(entry.header, entry.header.sent_ns);
}

bool Receiver::has_expired(const shm::MessageHeader& header, std::int64_t sent_ns) {
  return os::coarse_ns() > shm::end_of_life(header, sent_ns);
}

std::int64_t Receiver::end_of_life(const shm::Entry& entry) {
  return entry.is_revived() ? kNever : shm::end_of_life(entry.header, entry.header.sent_ns);
}

// True when the entry must not be handed out; it is a dead letter then. The entry is leased.
bool Receiver::drop_unfit(std::uint32_t at) {
  const shm::Entry& entry = home_->home().entry(at);
  if (is_copy(entry.header) && entry.word().attempts != 0) {
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
  if (entry.word().attempts >= most_attempts()) {
    bury(at, shm::DeadReason::kExhausted);
    return true;
  }
  return false;
}

// Its lines come while the message before it is handled. Those of a longer one are more than a CPU
// waits for at once, and come sooner when they are read in a row.
void Receiver::prefetch_next_payload() const {
  constexpr std::uint32_t kMostBytes = 1024;
  const std::uint32_t at = home_->inbox().next();
  if (at == shm::kNoEntry || !entry(at).in_slab()) return;
  const shm::MessageHeader& header = entry(at).header;
  const InLink* const link = link_of(at);
  if (link != nullptr && header.length <= kMostBytes)
    link->prefetch_slab(header.slab, header.length);
}

bool Receiver::has_reply(PendingReply& pending) {
  if (pending.entry == shm::kNoEntry) return false;
  if (!has_expired(entry(pending.entry))) return true;
  bury(take_reply(pending), shm::DeadReason::kExpired);
  return false;
}

std::uint32_t Receiver::take_reply(PendingReply& pending) {
  const std::uint32_t at = std::exchange(pending.entry, shm::kNoEntry);
  home_->inbox().take_unindexed(at);
  return at;
}

std::uint32_t Receiver::take_word(PendingReply& pending) {
  const std::uint32_t at = std::exchange(pending.word, shm::kNoEntry);
  home_->inbox().take_unindexed(at);
  return at;
}

void Receiver::requeue(std::uint32_t at, shm::Cost cost) {
  // In one step: killed between two, a message that was taken back would be delivered again.
  if (is_cancelled(at)) return bury(at, shm::DeadReason::kCancelled);
  home_->inbox().requeue(at, cost);
  note_life(at);
  if ((entry(at).header.flags & shm::kFlagStashed) != 0) put_aside(at);
}

void Receiver::bury(std::uint32_t at, shm::DeadReason reason) {
  if (reason != shm::DeadReason::kRejected) refuse(at, reason);
  home_->inbox().bury(at, reason);
  keep_slabs_bounded(at);
  keep_dead_letters_bounded();  // `at` may be among those that go
}

void Receiver::refuse(std::uint32_t at, shm::DeadReason reason) {
  const shm::MessageHeader& header = entry(at).header;
  if ((header.flags & shm::kFlagRequiresAck) == 0) return;
  refused_.push_back({header.id, entry(at).is_question(), reason});
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

std::span<const std::byte> Receiver::slab_payload(std::uint32_t at) const {
  const InLink* link = link_of(at);
  if (link == nullptr) return {};
  const shm::Entry& found = entry(at);
  return {link->view.slab(found.header.slab), found.header.length};
}

std::string_view Receiver::sender_name(std::uint32_t at) const {
  const InLink* link = link_of(at);
  return link == nullptr ? std::string_view() : link->owner_name;
}

shm::StringCopy Receiver::string_of(std::uint32_t at, std::uint16_t number,
                                    shm::StringCopy shm::CarriedTexts::*carried) const {
  const InLink* link = number == 0 ? nullptr : link_of(at);
  if (link == nullptr) return {};
  if (number <= link->verified.strings) return shm::read_string(link->view, number);
  if (number != shm::kCarriedText || !entry(at).in_slab()) return {};
  return shm::read_carried(link->view, entry(at).header.slab).*carried;
}

TypeText Receiver::type(std::uint32_t at) const {
  TypeText type;
  const auto append = [&](std::string_view part) {
    std::copy(part.begin(), part.end(), type.text + type.length);
    type.length = static_cast<unsigned char>(type.length + part.size());
  };
  if (is_copy(entry(at).header)) append(kSiblingTraffic);
  append(string_of(at, entry(at).header.type, &shm::CarriedTexts::type).view());
  return type;
}

shm::StringCopy Receiver::channel(std::uint32_t at) const {
  return string_of(at, entry(at).header.channel, &shm::CarriedTexts::channel);
}

}  // namespace beeline::receive
