// Messages that their senders take back.

#include <algorithm>
#include <utility>

#include "src/receive/receiver.h"

namespace beeline::receive {

namespace {

// Orders whose message has not come yet; an order may overtake it through the urgent lane.
constexpr std::size_t kMostCancelled = 256;

}  // namespace

void Receiver::obey_cancel(std::uint32_t order) {
  const shm::MessageHeader& header = entry(order).header;
  const std::uint64_t target = header.reply_to;
  const bool own = shm::pid_of_message(target) == shm::pid_of_message(header.id);
  home_->inbox().take_unindexed(order);
  done(order);
  if (own) cancel(target);
}

// One that waits becomes a dead letter; of one that is being handled its handler is told.
void Receiver::cancel(std::uint64_t id) {
  for (std::uint32_t at = 0; at < home_->home().entries_allocated(); ++at) {
    if (entry(at).word().state != shm::EntryState::kQueued || entry(at).header.id != id) continue;
    const std::uint16_t mark = entry(at).header.flags & shm::kUnindexedFlags;
    if (mark == shm::kFlagMatched) return;  // an answer that somebody waits for
    std::erase(stash_, at);
    if (mark != 0) {
      home_->inbox().take_unindexed(at);
    } else {
      home_->inbox().take(at);
    }
    return bury(at, shm::DeadReason::kCancelled);
  }
  if (std::find(cancelled_.begin(), cancelled_.end(), id) != cancelled_.end()) return;
  if (cancelled_.size() == kMostCancelled) cancelled_.erase(cancelled_.begin());
  cancelled_.push_back(id);
}

void Receiver::forget_cancel(std::uint64_t id) { std::erase(cancelled_, id); }

bool Receiver::is_cancelled(std::uint32_t at) const {
  const std::uint64_t id = entry(at).header.id;
  return std::find(cancelled_.begin(), cancelled_.end(), id) != cancelled_.end();
}

std::vector<Refused> Receiver::take_refused() { return std::exchange(refused_, {}); }

}  // namespace beeline::receive
