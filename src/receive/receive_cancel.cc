// Messages that their senders take back. An order lies in the table like any message until it is
// obeyed, so a successor finds it again, unless its place was needed.

#include <algorithm>
#include <utility>

#include "src/receive/receiver.h"

namespace beeline::receive {

namespace {

constexpr std::ptrdiff_t kMostOrders = 16;  // of one link in the table

}  // namespace

bool Receiver::is_cancel_order(InLink& link, const shm::MessageHeader& header) {
  return is_order(header) && !is_copy(header) && link.known_type(header.type) == KnownType::kCancel;
}

// Whether a message that goes before all data lies in the urgent lane.
bool Receiver::holds_order(InLink& link) {
  const auto lane = shm::Lane::kUrgent;
  const std::uint64_t first = link.position[static_cast<std::size_t>(lane)];
  for (std::uint64_t at = first; at < first + link.view.capacity(lane); ++at) {
    const shm::Slot& slot = link.view.slot(lane, at);
    if (!shm::is_published(slot, at)) return false;
    const auto header = slot.header.load<shm::MessageHeader>();
    if ((header.flags & shm::kFlagControl) == 0) continue;
    if (link.is_superior) return true;
    if (header.type == shm::kCarriedText) continue;
    if (header.type > link.verified.strings) static_cast<void>(verify_extents(link));
    if (header.type <= link.verified.strings && is_cancel_order(link, header)) return true;
  }
  return false;
}

// An order whose message has not come gives way to a new one. While all of them are still looking
// for theirs, the next waits in its lane.
bool Receiver::has_room_for_order(const InLink& link) {
  const auto is_of_link = [&](const CancelOrder& order) { return order.row == link.row; };
  if (std::count_if(orders_.begin(), orders_.end(), is_of_link) < kMostOrders) return true;
  const auto idle = std::find_if(orders_.begin(), orders_.end(), [&](const CancelOrder& order) {
    return is_of_link(order) && is_idle(order);
  });
  if (idle == orders_.end()) return false;
  finish_order(*idle);
  orders_.erase(idle);
  return true;
}

// An order that finds no room is obeyed where it lies: what makes room may be waiting for it.
// Not one in a slab: that is given back by its entry alone. REQUIRES: the next message of the
// urgent lane is published.
void Receiver::note_order_in_lane(InLink& link) {
  const std::uint64_t at = link.position[static_cast<std::size_t>(shm::Lane::kUrgent)];
  const auto is_noted = [&](const CancelOrder& order) {
    return order.position == at && order.row == link.row;
  };
  if (std::any_of(orders_.begin(), orders_.end(), is_noted)) return;
  forget_order_in_lane(link);
  shm::SlotCopy copy;
  shm::copy_head(link.view.slot(shm::Lane::kUrgent, at), copy);
  const Verdict verdict = check(link, copy.header, copy.generation);
  if (verdict != Verdict::kGood || !is_cancel_order(link, copy.header)) return;
  if ((copy.header.flags & shm::kFlagSlab) != 0) return;
  orders_.push_back({.row = link.row, .id = copy.header.reply_to, .position = at});
}

void Receiver::forget_order_in_lane(const InLink& link) {
  std::erase_if(orders_,
                [&](const CancelOrder& order) { return order.in_lane() && order.row == link.row; });
}

// Looks at `budget` entries at most. True when a lane has moved on. REQUIRES: everything that was
// put is committed.
bool Receiver::obey_orders(std::uint32_t budget) {
  bool taken = false;
  std::erase_if(orders_, [&](CancelOrder& order) {
    if (!obey(order, budget)) return false;
    taken |= order.in_lane();
    finish_order(order);
    return true;
  });
  return taken;
}

bool Receiver::is_searching() const {
  return std::any_of(orders_.begin(), orders_.end(),
                     [this](const CancelOrder& order) { return !is_scanned(order); });
}

// The places of orders whose messages lie in a lane that finds no place. They are still obeyed, but
// no successor would know of them. Takes as many as make room; false, and none, if that takes more.
bool Receiver::release_orders(shm::Room room) {
  std::vector<CancelOrder*> idle;
  for (CancelOrder& order : orders_) {
    if (is_idle(order) && order.entry != shm::kNoEntry) idle.push_back(&order);
  }
  const std::size_t missing = std::max(1U, home_->inbox().missing(room));
  if (idle.size() < missing) return false;
  idle.resize(missing);
  for (CancelOrder* order : idle) {
    finish_order(*order);
    order->entry = shm::kNoEntry;
  }
  return true;
}

// False when its message may still be found, or come: an order overtakes it in the urgent lane.
bool Receiver::obey(CancelOrder& order, std::uint32_t& budget) {
  const InLink& link = *rows_[order.row];  // remove() takes the orders of a link along
  if (shm::pid_of_message(order.id) != link.owner_pid) return true;
  for (; order.found == shm::kNoEntry && !is_scanned(order) && budget != 0; --budget) {
    const std::uint32_t at = order.scanned++;
    if (can_cancel(at, order.id)) order.found = at;
    if (is_dead(at, order.id)) return true;
  }
  if (order.found != shm::kNoEntry) {
    if (can_cancel(order.found, order.id)) cancel(order.found);
    return true;
  }
  if (!is_scanned(order)) return false;
  return link.quarantined() || !link.has_message(shm::Lane::kNormal);
}

bool Receiver::is_scanned(const CancelOrder& order) const {
  return order.scanned >= home_->home().entries_allocated();
}

// Its message has not come yet.
bool Receiver::is_idle(const CancelOrder& order) const {
  return order.found == shm::kNoEntry && is_scanned(order);
}

// Nobody cancels an order.
bool Receiver::can_cancel(std::uint32_t at, std::uint64_t id) const {
  const shm::MessageHeader& header = entry(at).header;
  if (header.id != id) return false;
  constexpr std::uint16_t kOrder = shm::kFlagControl | shm::kFlagStashed;
  if ((header.flags & kOrder) == kOrder) return false;
  const shm::EntryState state = entry(at).word().state;
  return state == shm::EntryState::kLeased || state == shm::EntryState::kQueued;
}

// Its message is a dead letter already: there is nothing to take back. If the order went on,
// whoever puts the letter back would lose it again as soon as a successor finds the order.
bool Receiver::is_dead(std::uint32_t at, std::uint64_t id) const {
  return entry(at).header.id == id && entry(at).word().state == shm::EntryState::kDead;
}

// One that waits becomes a dead letter; of one that is being handled its handler is told.
void Receiver::cancel(std::uint32_t at) {
  if (entry(at).word().state == shm::EntryState::kLeased) {
    home_->inbox().mark_cancelled(at);
    return;
  }
  const std::uint16_t mark = entry(at).header.flags & shm::kUnindexedFlags;
  if (mark == shm::kFlagMatched) return;  // somebody waits for it
  stash_.remove(at);
  if (mark != 0) {
    home_->inbox().take_unindexed(at);
  } else {
    home_->inbox().take(at);
  }
  bury(at, shm::DeadReason::kCancelled);
}

void Receiver::finish_order(const CancelOrder& order) {
  if (order.in_lane()) return take_off_lane(order);
  if (order.entry == shm::kNoEntry) return;
  home_->inbox().take_unindexed(order.entry);
  done(order.entry);
}

// It has been obeyed, and counts as a message that was done. Killed before the commit, a successor
// finds it in the lane and its message as it is now.
void Receiver::take_off_lane(const CancelOrder& order) {
  InLink& link = *rows_[order.row];
  std::uint64_t& position = link.position[static_cast<std::size_t>(shm::Lane::kUrgent)];
  // It was written over, or is not ours to take now: then it is noted again.
  if (position != order.position || !link.open()) return;
  ++position;
  commit(link, shm::Lane::kUrgent);
  home_->inbox().count_done(1);
  ++link.received;
  ring_for_space(link);
}

bool Receiver::is_cancelled(std::uint32_t at) const {
  return entry(at).reason() == shm::DeadReason::kCancelled;
}

std::vector<Refused> Receiver::take_refused() { return std::exchange(refused_, {}); }

}  // namespace beeline::receive
