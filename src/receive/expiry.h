#pragma once
// How long a message may wait, and when the next one may have waited too long.

#include <algorithm>
#include <cstdint>

#include "shm/entry.h"
#include "src/os/clock.h"

namespace beeline::receive {

// When its time to live is over, on the coarse clock; kForEver if it lives for ever. A dead letter
// that was revived is delivered, late or not.
[[nodiscard]] inline std::int64_t end_of_life(const shm::Entry& entry) {
  return entry.is_revived() ? shm::kForEver : shm::end_of_life(entry.header, entry.header.sent_ns);
}
[[nodiscard]] inline bool has_expired(const shm::MessageHeader& header, std::int64_t sent_ns) {
  return os::coarse_ns() > shm::end_of_life(header, sent_ns);
}
// Such a message becomes a dead letter where it is taken.
[[nodiscard]] inline bool has_expired(const shm::Entry& entry) {
  return !entry.is_revived() && has_expired(entry.header, entry.header.sent_ns);
}

class Expiry {
 public:
  // An entry waits from now on.
  void note(const shm::Entry& entry) { first_ns_ = std::min(first_ns_, end_of_life(entry)); }
  // One of the messages that wait may be over. A caller that asks often asks for nothing: it looks
  // at no message before the first of them can be over.
  [[nodiscard]] bool may_be_due() const { return os::coarse_ns() > first_ns_; }
  // All that wait are looked at, and noted again.
  void start_anew() { first_ns_ = shm::kForEver; }

  // The same for a caller that asks all the time and can do without the answer. A look at all that
  // waits takes some 50 ns for each: a large inbox, of which something expires all the time, is
  // looked at so seldom that this stays a small share of the time.
  [[nodiscard]] bool is_worth_a_look(std::uint32_t queued) {
    constexpr std::int64_t kPauseForEach = 1'000;
    const std::int64_t now = os::coarse_ns();
    if (now <= first_ns_ || now < next_look_ns_) return false;
    next_look_ns_ = now + kPauseForEach * queued;
    return true;
  }

 private:
  std::int64_t first_ns_ = shm::kForEver;  // nothing that waits is over before
  std::int64_t next_look_ns_ = 0;          // see is_worth_a_look(), coarse
};

}  // namespace beeline::receive
