// From the lanes into the table: whose turn it is, and what becomes of each message on its way.

#include <algorithm>
#include <array>
#include <utility>

#include "src/os/clock.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

namespace {

constexpr std::uint32_t kScanned = 4096;  // entries that orders to cancel may look at in one turn

// Of so many messages of a lane all have come if the last one has, since their sender publishes one
// after the other. Whoever takes no more than these touches no slot that the sender is about to
// write; whoever follows it from slot to slot takes a line away from it with each, which costs both
// as much as many messages. See docs/performance-steps.md.
constexpr std::array<std::uint32_t, 3> kRuns{16, 32, 64};
// From far CPUs the lines of a slot take as long as many messages do, so those of a run are asked
// for so many slots ahead.
constexpr std::uint32_t kAskedAhead = 16;
// Where runs come, the end of a lane is looked for this often: in four microseconds at 2 GHz, and
// never more than eight, or at the next look after that.
constexpr std::uint64_t kEndTicks = 8'000;

// How many messages, `most` at most, surely wait in a lane; 0: hardly any.
std::uint32_t sure_run(const InLink& link, shm::Lane lane, std::uint32_t most) {
  const std::uint64_t next = link.position[static_cast<std::size_t>(lane)];
  const std::uint32_t limit = std::min(most, link.view.capacity(lane));
  std::uint32_t sure = 0;
  for (const std::uint32_t run : kRuns) {
    const std::uint64_t last = next + run - 1;
    if (run > limit || !shm::is_published(link.view.slot(lane, last), last)) break;
    sure = run;
  }
  return sure;
}

}  // namespace

bool Receiver::drain_turn(Reach reach) {
  bool taken = !queue_.empty() && serve_queue();
  const std::size_t active = std::min(looked_at_, kActiveLinks);
  for (std::size_t i = 0; i < active; ++i) taken |= drain(*links_[i], budget_, reach);
  if (!orders_.empty()) taken |= obey_orders(kScanned);
  if (looked_at_ <= active) return taken;
  const std::size_t others = looked_at_ - active;
  visits_ += std::min(others, kSliceLinks);
  if (others > kSliceLinks) taken |= drain_urgent();
  for (std::size_t i = 0; i < std::min(others, kSliceLinks); ++i) {
    slice_ = slice_ + 1 < others ? slice_ + 1 : 0;
    InLink& link = *links_[active + slice_];
    if (!drain(link, budget_)) continue;
    taken = true;
    if (!stop_looking(link)) move_to_front(active + slice_);
  }
  return taken;
}

// Nothing more comes from an ended owner whose lanes are empty: the looks leave its link out at
// once.
bool Receiver::stop_looking(InLink& link) {
  if (!link.owner_gone || link.has_message() || link.queued) return false;
  arrange(link);
  return true;
}

// What is urgent waits for no turn.
bool Receiver::drain_urgent() {
  visits_ += watched_;
  bool taken = false;
  for (std::size_t i = 0; i < watched_; ++i) {
    const UrgentPlace next = urgent_[i];
    if (next.slot == nullptr || !shm::is_published(*next.slot, next.position)) continue;
    if (!drain(*links_[i], budget_)) continue;
    taken = true;
    move_to_front(i);
  }
  return taken;
}

void Receiver::watch_urgent(const InLink& link) {
  const std::uint64_t at = link.position[static_cast<std::size_t>(shm::Lane::kUrgent)];
  urgent_[link.place] = {&link.view.slot(shm::Lane::kUrgent, at), at};
}

bool Receiver::drain_all() {
  lacks_room_ = false;
  visits_ += looked_at_;
  bool taken = serve_queue();
  for (std::size_t i = 0; i < looked_at_; ++i) {
    InLink& link = *links_[i];
    if (!drain(link, budget_)) continue;
    taken = true;
    if (stop_looking(link)) {
      // Another one lies here now, which was not looked at. SUBTLE: 0 wraps round, and the loop
      // adds one before it compares.
      --i;
    } else if (i >= kActiveLinks) {
      move_to_front(i);
    }
  }
  if (!orders_.empty()) taken |= obey_orders(kScanned);
  return taken;
}

// Each link in turn, so that none takes all places. Of a sender that goes on meanwhile it takes no
// more than its lane holds.
void Receiver::drain_whole() {
  cut_short_ = false;
  std::uint32_t rounds = most_slots_ / budget_ + 1;
  do {
    static_cast<void>(drain_all());
  } while (was_cut_short() && --rounds != 0);
}

bool Receiver::drain_from(std::uint32_t pid) {
  serve_queue();  // places may have become free
  bool taken = false;
  index_.each_of(pid, [&](InLink& link) { taken |= drain(link, budget_); });
  return taken;
}

// Links that found the table full, longest first. While there are any, no other link gets an
// ordinary place: else those that are looked at first would get them all.
bool Receiver::serve_queue() {
  bool taken = false;
  for (std::size_t left = queue_.size(); left != 0; --left) {
    InLink& link = *queue_.front();
    queue_.pop_front();
    link.queued = false;
    served_ = &link;
    const bool some = drain(link, budget_);
    served_ = nullptr;
    taken |= some;
    if (!link.queued) continue;
    // No room again. Whoever got nothing stays the first.
    if (!some) {
      queue_.pop_back();
      queue_.push_front(&link);
    }
    break;
  }
  return taken;
}

// Puts a link before all others that are active. Where it was not active the last of those makes
// room and goes to its old place: links behind the active ones are in no order.
void Receiver::move_to_front(std::size_t at) {
  if (at >= watched_) return;  // nothing comes from the ended any more
  if (at >= kActiveLinks) {
    swap_links(at, kActiveLinks - 1);
    at = kActiveLinks - 1;
  }
  for (; at > 0; --at) swap_links(at, at - 1);
}

bool Receiver::drain(InLink& link, std::uint32_t budget, Reach reach) {
  link.prefetch_payload();
  const bool urgent = link.has_message(shm::Lane::kUrgent);
  if ((!urgent && !link.has_message(shm::Lane::kNormal)) || !link.open()) return false;
  clock_ns_ = os::coarse_ns();  // after the first of them was seen, before the last look
  const std::uint32_t normal_budget = link.rate != nullptr ? tokens_of(link, budget) : budget;
  const std::uint64_t before = link.position[static_cast<std::size_t>(shm::Lane::kNormal)];
  std::uint32_t count = 0;
  if (fifo_) {
    count = drain_merged(link, budget, normal_budget);
  } else {
    if (urgent) count = drain_lane(link, shm::Lane::kUrgent, budget, Reach::kToTheEnd);
    if (!link.quarantined()) count += drain_lane(link, shm::Lane::kNormal, normal_budget, reach);
  }
  if (count == 0 && !link.quarantined()) return false;
  cut_short_ |= count >= budget;
  if (has_to_settle()) settle_put();
  if (link.rate != nullptr) {
    const auto taken = link.position[static_cast<std::size_t>(shm::Lane::kNormal)] - before;
    link.rate->take(os::coarse_ns(), static_cast<std::uint32_t>(taken));
  }
  link.received += count;
  ring_for_space(link);
  if (link.has_message()) return true;
  note_empty(link);
  if (link.owner_gone) {
    index_.pass_over(link);
    owners_.call(link);
  }
  return true;
}

std::uint32_t Receiver::drain_lane(InLink& link, shm::Lane lane, std::uint32_t budget,
                                   Reach reach) {
  const bool has_turn = queue_.empty() || served_ == &link;
  spare_ = lane == shm::Lane::kNormal && has_turn ? home_->inbox().plain_room() : 0;
  std::uint32_t count = 0;
  bool goes_on = true;
  while (goes_on) {
    const std::uint32_t run = sure_run(link, lane, budget - count);
    if (run == 0) break;
    const std::uint32_t taken = put_run(link, lane, run);
    count += taken;
    goes_on = taken == run;
  }
  const bool had_run = count != 0;
  if (goes_on && (!had_run || reach == Reach::kToTheEnd || os::ticks() >= link.end_due_ticks)) {
    while (count < budget && put_next(link, lane)) ++count;
    const bool is_its_end = had_run && lane == shm::Lane::kNormal && !link.has_message(lane);
    if (is_its_end) link.end_due_ticks = os::ticks() + kEndTicks;
  }
  spare_ = 0;
  if (count != 0) commit(link, lane);
  return count;
}

// REQUIRES: so many wait.
std::uint32_t Receiver::put_run(InLink& link, shm::Lane lane, std::uint32_t run) {
  for (std::uint32_t i = 1; i < std::min(run, kAskedAhead); ++i) link.prefetch_slot(lane, i);
  std::uint32_t count = 0;
  while (count < run) {
    if (count + kAskedAhead < run) link.prefetch_slot(lane, kAskedAhead);
    if (!put_next(link, lane)) break;
    ++count;
  }
  return count;
}

// How many messages of its normal lane the rate allows now.
std::uint32_t Receiver::tokens_of(InLink& link, std::uint32_t budget) {
  const std::uint32_t tokens = link.rate->available(os::coarse_ns());
  link.held_back = tokens == 0;
  return std::min(budget, tokens);
}

std::int64_t Receiver::next_token_ns() const {
  const std::int64_t now = os::coarse_ns();
  std::int64_t next = kNever;
  for (auto each = links_.begin(); each != end_of(looked_at_); ++each) {
    const auto& link = *each;
    if (!link->held_back || !link->open() || !link->has_message(shm::Lane::kNormal)) continue;
    next = std::min(next, now + link->rate->ns_until(now));
  }
  return next;
}

// A fifo inbox takes both lanes in the order in which the sender sent, as long as the rate allows;
// then the urgent one alone.
std::uint32_t Receiver::drain_merged(InLink& link, std::uint32_t budget,
                                     std::uint32_t normal_budget) {
  std::uint32_t count = 0;
  for (; count < budget; ++count) {
    auto lane = normal_budget != 0 ? next_in_order(link) : std::optional(shm::Lane::kUrgent);
    if (!lane) break;
    if (!put_next(link, *lane)) {
      // Data without room holds no order up, nor what lies before the order.
      if (link.quarantined() || *lane == shm::Lane::kUrgent || !holds_order(link)) break;
      lane = shm::Lane::kUrgent;
      if (!put_next(link, *lane)) break;
    }
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

// A slot that is bad quarantines its link.
Receiver::Verdict Receiver::check(InLink& link, const shm::MessageHeader& header,
                                  std::uint64_t generation) {
  const shm::SlotFault fault =
      shm::check_head(header, generation, link.owner_pid, link.view.layout(), link.verified);
  return fault == shm::SlotFault::kNone ? Verdict::kGood
                                        : look_closer(link, header, generation, fault);
}

Receiver::Verdict Receiver::look_closer(InLink& link, const shm::MessageHeader& header,
                                        std::uint64_t generation, shm::SlotFault fault) {
  if (fault == shm::SlotFault::kBadSlab || fault == shm::SlotFault::kBadString) {
    const Extents found = verify_extents(link);
    if (found == Extents::kNotNow) return Verdict::kNotNow;
    if (found == Extents::kLie) {
      quarantine(link, kLieAboutMemory);
      return Verdict::kBad;
    }
    fault = shm::check_head(header, generation, link.owner_pid, link.view.layout(), link.verified);
  }
  if (fault == shm::SlotFault::kNone) return Verdict::kGood;
  quarantine(link, shm::to_string(fault));
  return Verdict::kBad;
}

// The relation decides how urgent a message may be, see rank_of(), and who may steer whom: whoever
// is above. Any sender may take back what it has sent.
void Receiver::judge(InLink& link, shm::MessageHeader& header) const {
  if (is_order(header) && !link.is_superior && link.known_type(header.type) != KnownType::kCancel) {
    header.flags = static_cast<std::uint16_t>(header.flags & ~shm::kFlagControl);
  }
  const bool is_shown = ranks_by_relation_ && is_copy(header);
  header.rank = is_shown ? kLow : rank_of(link, header.rank, header.type);
}

// SUBTLE: by values, so that the words stay in registers.
bool Receiver::prepare_slab(const InLink& link, std::uint32_t slab, std::uint64_t generation) {
  if (!link.sink.valid()) return true;
  if (!ensure_stamps(link.sink)) return false;
  if (link.has_old_stamps) {
    shm::withdraw_stamp(link.sink.own->stamp(link.sink.bank, slab), generation);
  }
  return true;
}

bool Receiver::put_next(InLink& link, shm::Lane lane) {
  std::uint64_t& position = link.position[static_cast<std::size_t>(lane)];
  const shm::Slot& slot = link.view.slot(lane, position);
  if (!shm::is_published(slot, position)) return false;
  if (spare_ != 0) {
    --spare_;
  } else if (!make_room(link, lane)) {
    if (lane == shm::Lane::kUrgent) note_order_in_lane(link);
    return false;
  }
  const shm::HeaderWords words(slot);
  if (words.reply_to() == 0 && is_simple(link, words)) [[likely]] {
    if (!prepare(link, words)) return false;
    prefetch_first(link, words);
    home_->inbox().put_simple(words, slot, link.row, lane, position,
                              time_sent(link, words.sent_ns()),
                              rank_of(link, words.rank(), words.type()));
  } else if (!put_special(link, lane, slot, words)) {
    return false;
  }
  ++link.live;
  ++position;
  return true;
}

// A message of which more is to be known, or to be done, than that it came.
bool Receiver::put_special(InLink& link, shm::Lane lane, const shm::Slot& slot,
                           shm::HeaderWords words) {
  shm::SlotCopy copy;
  words.store(copy.header, words.sent_ns(), words.rank(), 0);
  copy.generation = words.generation();
  if (check(link, copy.header, copy.generation) != Verdict::kGood) return false;
  shm::copy_area(slot, copy);
  if (is_cancel_order(link, copy.header)) {
    forget_order_in_lane(link);
    if (!has_room_for_order(link)) return false;
  }
  if (!prepare(link, words)) return false;
  prefetch_first(link, words);
  const std::int64_t sent = time_sent(link, copy.header.sent_ns);
  judge(link, copy.header);
  PendingReply* waiting = nullptr;
  const std::uint16_t mark = mark_for(link, copy, sent, waiting);
  const std::uint64_t position = link.position[static_cast<std::size_t>(lane)];
  const std::uint32_t at = home_->inbox().put(copy, link.row, lane, position, sent, mark);
  if (waiting != nullptr) waiting->set(entry(at).header, at);
  if (copy.header.ttl_ms != 0) note_life(at);
  note_put(at, mark);
  return true;
}

bool Receiver::make_room(InLink& link, shm::Lane lane) {
  const bool urgent = lane == shm::Lane::kUrgent;
  const shm::Room room = urgent ? shm::Room::kCritical : shm::Room::kNormal;
  const bool next = urgent || queue_.empty() || served_ == &link;
  if (next && home_->make_room(room)) return true;
  if (next && home_->inbox().copies() != 0) {
    commit(link, lane);  // no payload is given back before its message is in the home
    if (drop_copies() && home_->make_room(room)) return true;
  }
  const shm::Room awaited = room_for_awaited(link, lane);
  const bool is_awaited = awaited != shm::Room::kNormal;
  if (is_awaited && home_->make_room(awaited)) return true;
  if (next && release_orders(room) && home_->make_room(room)) return true;
  if (is_awaited && release_orders(awaited) && home_->make_room(awaited)) return true;
  lacks_room_ = true;
  if (!urgent && !link.queued) {
    link.queued = true;
    queue_.push_back(&link);
  }
  return false;
}

// The room that the next message of a lane may have because of what it is or what lies behind it:
// what lies before an order of somebody above is let in with it; what lies before an answer that
// somebody waits for leaves the orders their share.
shm::Room Receiver::room_for_awaited(const InLink& link, shm::Lane lane) const {
  if (!link.is_superior && answers_.nobody_waits()) return shm::Room::kNormal;
  shm::Room room = shm::Room::kNormal;
  const std::uint64_t first = link.position[static_cast<std::size_t>(lane)];
  for (std::uint64_t at = first; at < first + link.view.capacity(lane); ++at) {
    const shm::Slot& slot = link.view.slot(lane, at);
    if (!shm::is_published(slot, at)) break;
    const auto header = slot.header.load<shm::MessageHeader>();
    if (link.is_superior && is_order(header)) return shm::Room::kControl;
    const PendingReply* waiting = answers_.waiting_for(link.owner_pid, header);
    if (waiting == nullptr || has_expired(header, time_sent(link, header.sent_ns))) continue;
    if (at == first && waiting->is_blocking) return shm::Room::kControl;  // it is taken at once
    room = shm::Room::kCritical;
  }
  return room;
}

void Receiver::commit(InLink& link, shm::Lane lane) {
  const auto index = static_cast<std::size_t>(lane);
  if (shm::is_mutant(shm::Mutant::kReceiptBeforeHome)) publish_receipt(link, index);
  home_->inbox().commit(link.row, lane, link.position[index]);
  publish_receipt(link, index);
  if (lane == shm::Lane::kUrgent) watch_urgent(link);
}

// SYNC(lane.receipt): release, pairs with LaneWriter::refresh(). After the home: a receipt never
// promises more than the home holds.
void Receiver::publish_receipt(const InLink& link, std::size_t lane) {
  if (!link.sink.valid()) return;
  link.sink.own->bank(link.sink.bank).cursors[lane].publish(link.position[lane]);
}

// The time is at most that of the look that found nothing more. A link that came to be known in
// between has a later one.
void Receiver::note_empty(InLink& link) {
  link.seen_empty_ns = std::max(link.seen_empty_ns, clock_ns_);
  home_->home().row(link.row).seen_empty_ns.relaxed_store(link.seen_empty_ns);
}

void Receiver::ring_for_space(InLink& link) {
  // SYNC(link.space): pairs with the fence of the sender between its space word and its last look
  // at the receipts.
  if (!shm::is_mutant(shm::Mutant::kReceiptFenceMissing)) shm::full_fence();
  unfenced_ = 0;
  if (link.view.control().space.relaxed_load() == 0) return;
  static_cast<void>(wake::ring(link.bell, os::coarse_ns()));
}

void Receiver::ring_all_for_space() {
  for (const auto& link : links_) ring_for_space(*link);
}

}  // namespace beeline::receive
