// What has waited longer than it may, for whoever looks at the inbox without taking anything. A
// take needs none of this: it meets what has expired on its way.

#include <algorithm>
#include <vector>

#include "src/os/clock.h"
#include "src/receive/receiver.h"

namespace beeline::receive {

// Whoever asks often asks for nothing: nothing is looked at before the first of them can be over.
void Receiver::bury_expired() {
  if (os::coarse_ns() <= first_expiry_ns_) return;
  first_expiry_ns_ = kNever;
  std::vector<std::uint32_t> expired;
  const auto is_over = [&](std::uint32_t at) {
    if (has_expired(entry(at))) return true;
    note_life(at);
    return false;
  };
  home_->inbox().index().for_each([&](const shm::IndexNode& node) {
    if (is_over(node.entry())) expired.push_back(node.entry());
    return true;
  });
  home_->inbox().take_all(expired);
  const auto is_kept_over = [&](const Stash::Item& item) { return is_over(item.at); };
  for (const std::uint32_t at : stash_.find_all(is_kept_over)) {
    take_aside(at);
    expired.push_back(at);
  }
  for (PendingReply* pending : answers_.pending()) {
    if (pending->entry != shm::kNoEntry && is_over(pending->entry)) {
      expired.push_back(take_reply(*pending));
    }
  }
  std::sort(expired.begin(), expired.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entry(a).arrival < entry(b).arrival;
  });
  for (const std::uint32_t at : expired) bury(at, shm::DeadReason::kExpired);
}

// A look at all that waits takes some 50 ns for each: a large inbox, of which something expires all
// the time, is looked at so seldom that this stays a small share of the time.
void Receiver::bury_expired_sometimes() {
  constexpr std::int64_t kPauseForEach = 1'000;
  const std::int64_t now = os::coarse_ns();
  if (now <= first_expiry_ns_ || now < next_burial_ns_) return;
  next_burial_ns_ = now + kPauseForEach * home_->inbox().queued();
  bury_expired();
}

// An entry waits from now on, and for so long.
void Receiver::note_life(std::uint32_t at) {
  first_expiry_ns_ = std::min(first_expiry_ns_, end_of_life(entry(at)));
}

}  // namespace beeline::receive
