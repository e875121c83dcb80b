#include "src/receive/cancel_orders.h"

#include <algorithm>

#include "src/receive/slot_check.h"

namespace beeline::receive {

namespace {

constexpr std::ptrdiff_t kMostOrders = 16;  // of one link in the table

}  // namespace

bool is_cancel_order(InLink& link, const shm::MessageHeader& header) {
  return is_order(header) && !is_copy(header) && link.known_type(header.type) == KnownType::kCancel;
}

bool holds_order(InLink& link) {
  const auto lane = shm::Lane::kUrgent;
  const std::uint64_t first = link.position(lane);
  for (std::uint64_t at = first; at < first + link.view().capacity(lane); ++at) {
    const shm::Slot& slot = link.view().slot(lane, at);
    if (!shm::is_published(slot, at)) return false;
    const auto header = slot.header.load<shm::MessageHeader>();
    if ((header.flags & shm::kFlagControl) == 0) continue;
    if (link.is_superior()) return true;
    if (header.type == shm::kCarriedText) continue;
    if (header.type > link.verified().strings) (void)link.verify_extents();
    if (header.type <= link.verified().strings && is_cancel_order(link, header)) return true;
  }
  return false;
}

void CancelOrders::add(shm::EntryIndex at) {
  const shm::Entry& entry = entries_.entry(at);
  orders_.push_back({.entry = at, .row = entry.word().row, .id = entry.header.reply_to});
}

void CancelOrders::note_put(shm::EntryIndex at) {
  const std::uint64_t id = entries_.entry(at).header.id;
  for (CancelOrder& order : orders_) {
    if (order.id == id) order.found = at;
  }
}

void CancelOrders::forget(const InLink& link) {
  std::erase_if(orders_, [&](const CancelOrder& order) { return order.row == link.row(); });
}

bool CancelOrders::has_room(const InLink& link) {
  const auto is_of_link = [&](const CancelOrder& order) { return order.row == link.row(); };
  if (std::count_if(orders_.begin(), orders_.end(), is_of_link) < kMostOrders) return true;
  const auto idle = std::find_if(orders_.begin(), orders_.end(), [&](const CancelOrder& order) {
    return is_of_link(order) && is_idle(order);
  });
  if (idle == orders_.end()) return false;
  finish(*idle);
  orders_.erase(idle);
  return true;
}

// Not an order in a slab: the slab is given back by its entry alone.
void CancelOrders::note_in_lane(InLink& link) {
  const std::uint64_t at = link.position(shm::Lane::kUrgent);
  const auto is_noted = [&](const CancelOrder& order) {
    return order.position == at && order.row == link.row();
  };
  if (std::any_of(orders_.begin(), orders_.end(), is_noted)) return;
  forget_in_lane(link);
  shm::SlotCopy copy;
  shm::copy_head(link.view().slot(shm::Lane::kUrgent, at), copy);
  const Verdict verdict = check(entries_, link, copy.header, copy.generation);
  if (verdict != Verdict::kGood || !is_cancel_order(link, copy.header)) return;
  if ((copy.header.flags & shm::kFlagSlab) != 0) return;
  orders_.push_back({.row = link.row(), .id = copy.header.reply_to, .position = at});
}

void CancelOrders::forget_in_lane(const InLink& link) {
  std::erase_if(orders_, [&](const CancelOrder& order) {
    return order.in_lane() && order.row == link.row();
  });
}

bool CancelOrders::obey_all(std::uint32_t budget) {
  bool taken = false;
  std::erase_if(orders_, [&](CancelOrder& order) {
    if (!obey(order, budget)) return false;
    taken |= order.in_lane();
    finish(order);
    return true;
  });
  return taken;
}

bool CancelOrders::is_searching() const {
  return std::any_of(orders_.begin(), orders_.end(),
                     [this](const CancelOrder& order) { return !is_scanned(order); });
}

bool CancelOrders::release(shm::Room room) {
  std::vector<CancelOrder*> idle;
  for (CancelOrder& order : orders_) {
    if (is_idle(order) && order.entry != shm::kNoEntry) idle.push_back(&order);
  }
  const std::size_t missing = std::max(1U, entries_.inbox().missing(room));
  if (idle.size() < missing) return false;
  idle.resize(missing);
  for (CancelOrder* order : idle) {
    finish(*order);
    order->entry = shm::kNoEntry;
  }
  return true;
}

// False when its message may still be found, or come: an order overtakes it in the urgent lane.
bool CancelOrders::obey(CancelOrder& order, std::uint32_t& budget) {
  const InLink& link =
      *entries_.links().of_row(order.row);  // remove() takes the orders of a link along
  if (shm::pid_of_message(order.id) != link.owner_pid()) return true;
  for (; order.found == shm::kNoEntry && !is_scanned(order) && budget != 0; --budget) {
    const shm::EntryIndex at = order.scanned;
    ++order.scanned;
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

bool CancelOrders::is_scanned(const CancelOrder& order) const {
  return order.scanned.value() >= entries_.table().entries_allocated();
}

// Its message has not come yet.
bool CancelOrders::is_idle(const CancelOrder& order) const {
  return order.found == shm::kNoEntry && is_scanned(order);
}

// Nobody cancels an order.
bool CancelOrders::can_cancel(shm::EntryIndex at, std::uint64_t id) const {
  const shm::MessageHeader& header = entries_.entry(at).header;
  if (header.id != id) return false;
  constexpr std::uint16_t kOrder = shm::kFlagControl | shm::kFlagStashed;
  if ((header.flags & kOrder) == kOrder) return false;
  const shm::EntryState state = entries_.entry(at).word().state;
  return state == shm::EntryState::kLeased || state == shm::EntryState::kQueued;
}

// Its message is a dead letter already: there is nothing to take back. If the order went on, an
// agent that puts the letter back would lose it again as soon as a successor finds the order.
bool CancelOrders::is_dead(shm::EntryIndex at, std::uint64_t id) const {
  return entries_.entry(at).header.id == id &&
         entries_.entry(at).word().state == shm::EntryState::kDead;
}

// A message that waits becomes a dead letter. The handler of one that is being handled is told.
void CancelOrders::cancel(shm::EntryIndex at) {
  if (entries_.entry(at).word().state == shm::EntryState::kLeased) {
    entries_.inbox().mark_cancelled(at);
    return;
  }
  const std::uint16_t mark = entries_.entry(at).header.flags & shm::kUnindexedFlags;
  if (mark == shm::kFlagMatched) return;  // somebody waits for it
  kept_.forget(at);
  if (mark != 0) {
    entries_.inbox().take_unindexed(at);
  } else {
    entries_.inbox().take(at);
  }
  kept_.bury(at, shm::DeadReason::kCancelled);
}

void CancelOrders::finish(const CancelOrder& order) {
  if (order.in_lane()) return take_off_lane(order);
  if (order.entry == shm::kNoEntry) return;
  entries_.inbox().take_unindexed(order.entry);
  entries_.done(order.entry);
}

// It has been obeyed, and counts as a message that was done. Killed before the commit, a successor
// finds it in the lane and its message as it is now.
void CancelOrders::take_off_lane(const CancelOrder& order) {
  InLink& link = *entries_.links().of_row(order.row);
  // It was written over, or is not ours to take now: then it is noted again.
  if (link.position(shm::Lane::kUrgent) != order.position || !link.open()) return;
  link.advance(shm::Lane::kUrgent);
  entries_.commit(link, shm::Lane::kUrgent);
  entries_.inbox().count_done(1);
  link.count_received(1);
  entries_.rings().ring_for_space(link);
}

}  // namespace beeline::receive
