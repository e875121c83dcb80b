#pragma once
// The turns of the links: which links wait for room in the table, and which of the many are looked
// at next.

#include <cstddef>
#include <deque>

#include "src/receive/in_link.h"

namespace beeline::receive {

// Links that found the table full, the one that has waited longest first. While there are any, no
// other link gets an ordinary place: else the links that are looked at first would get them all.
class LaneTurns {
 public:
  [[nodiscard]] bool nobody_waits() const { return queue_.empty(); }
  // The link may take ordinary places now.
  [[nodiscard]] bool has_turn(const InLink& link) const {
    return queue_.empty() || served_ == &link;
  }
  // The link found no room. It keeps its place in the queue if it waits already.
  void wait(InLink& link) {
    if (link.is_queued()) return;
    link.set_queued(true);
    queue_.push_back(&link);
  }
  // The link is removed.
  void forget(const InLink& link);
  // Drains links until one of them finds no room again. True when `drain(link)` was true for one.
  template <typename Drain>
  bool serve(Drain&& drain);

  // The next place of `count` places, one after the other and round again.
  [[nodiscard]] std::size_t next_of(std::size_t count) {
    slice_ = slice_ + 1 < count ? slice_ + 1 : 0;
    return slice_;
  }

 private:
  std::deque<InLink*> queue_;
  const InLink* served_ = nullptr;  // its turn has come in the queue
  std::size_t slice_ = 0;
};

inline void LaneTurns::forget(const InLink& link) {
  if (link.is_queued()) std::erase(queue_, &link);
}

template <typename Drain>
bool LaneTurns::serve(Drain&& drain) {
  bool taken = false;
  for (std::size_t left = queue_.size(); left != 0; --left) {
    InLink& link = *queue_.front();
    queue_.pop_front();
    link.set_queued(false);
    served_ = &link;
    const bool some = drain(link);
    served_ = nullptr;
    taken |= some;
    if (!link.is_queued()) continue;
    // It found no room again. A link that got nothing stays the first.
    if (!some) {
      queue_.pop_back();
      queue_.push_front(&link);
    }
    break;
  }
  return taken;
}

}  // namespace beeline::receive
