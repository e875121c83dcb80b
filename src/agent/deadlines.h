#pragma once
// When this agent has to look again, because no peer rings for the event.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace beeline {

// Times of CLOCK_MONOTONIC; kNever: nothing is waited for.
struct Deadlines {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  std::int64_t resume = 0;        // the next attempt to find the coordinator again
  std::int64_t place = kNever;    // open links again: receivers have no place yet
  std::int64_t report = kNever;   // report to the coordinator again: it had no room
  std::int64_t token = kNever;    // a send that was limited may be tried again
  std::int64_t payment = kNever;  // of debts and escalations for which nobody rings
  std::int64_t retry = kNever;    // the pause of the first failed message is over
  std::int64_t rate = kNever;     // a sender may be taken from again

  // The first of them. An agent without a coordinator looks for one, and asks it for nothing.
  [[nodiscard]] std::int64_t earliest(bool is_connected, bool is_down) const {
    const std::int64_t own = std::min({token, payment, retry, rate});
    if (is_connected) return std::min({own, place, report});
    return is_down ? own : std::min(own, resume);
  }
};

}  // namespace beeline
