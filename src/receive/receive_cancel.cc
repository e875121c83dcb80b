// Messages that their senders take back. An order lies in the table like any message until it is
// obeyed, so a successor finds it again.

#include <algorithm>
#include <utility>

#include "src/receive/receiver.h"

namespace beeline::receive {

namespace {

// Orders of one link whose message has not come yet: they overtake it through the urgent lane.
constexpr std::ptrdiff_t kMostWaiting = 16;

}  // namespace

// REQUIRES: everything that was put is committed.
void Receiver::obey_orders() {
  for (const std::uint32_t order : std::exchange(new_orders_, {})) {
    const shm::MessageHeader& header = entry(order).header;
    const std::uint64_t target = header.reply_to;
    const bool own = shm::pid_of_message(target) == shm::pid_of_message(header.id);
    const InLink* link = link_of(order);
    const bool may_come = link != nullptr && link->has_message(shm::Lane::kNormal);
    if (own && !cancel(target) && may_come) {
      wait_for_target(order);
    } else {
      finish_order(order);
    }
  }
}

void Receiver::finish_order(std::uint32_t order) {
  home_->inbox().take_unindexed(order);
  done(order);
}

void Receiver::wait_for_target(std::uint32_t order) {
  const std::uint32_t row = entry(order).word().row;
  const auto is_of_row = [&](std::uint32_t at) { return entry(at).word().row == row; };
  if (std::count_if(waiting_orders_.begin(), waiting_orders_.end(), is_of_row) == kMostWaiting) {
    const auto oldest = std::find_if(waiting_orders_.begin(), waiting_orders_.end(), is_of_row);
    finish_order(*oldest);
    waiting_orders_.erase(oldest);
  }
  waiting_orders_.push_back(order);
}

// A message has been put: an order may have waited for it.
void Receiver::wake_orders(std::uint64_t id) {
  const auto found =
      std::find_if(waiting_orders_.begin(), waiting_orders_.end(),
                   [&](std::uint32_t order) { return entry(order).header.reply_to == id; });
  if (found == waiting_orders_.end()) return;
  new_orders_.push_back(*found);
  waiting_orders_.erase(found);
}

// Everything of the link has been taken: what orders still wait for does not come any more.
void Receiver::finish_orders_of(const InLink& link) {
  std::erase_if(waiting_orders_, [&](std::uint32_t order) {
    if (entry(order).word().row != link.row) return false;
    finish_order(order);
    return true;
  });
}

// One that waits becomes a dead letter; of one that is being handled its handler is told. False
// when it is not here.
bool Receiver::cancel(std::uint64_t id) {
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    if (entry(at).header.id != id) continue;
    const shm::EntryState state = entry(at).word().state;
    if (state == shm::EntryState::kLeased) {
      home_->inbox().mark_cancelled(at);
      return true;
    }
    if (state != shm::EntryState::kQueued) continue;
    const std::uint16_t mark = entry(at).header.flags & shm::kUnindexedFlags;
    if (mark == shm::kFlagMatched) return true;  // somebody waits for it
    std::erase(stash_, at);
    if (mark != 0) {
      home_->inbox().take_unindexed(at);
    } else {
      home_->inbox().take(at);
    }
    bury(at, shm::DeadReason::kCancelled);
    return true;
  }
  return false;
}

bool Receiver::is_cancelled(std::uint32_t at) const {
  return entry(at).reason() == shm::DeadReason::kCancelled;
}

std::vector<Refused> Receiver::take_refused() { return std::exchange(refused_, {}); }

}  // namespace beeline::receive
