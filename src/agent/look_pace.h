#pragma once
// How often a busy agent looks at its ordinary lanes. A look takes the next line away from the
// sender that is about to write it, and is most of the cost of a message.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/os/clock.h"
#include "src/send/send_path.h"

namespace beeline {

// A microsecond at 2 GHz, and never more than two.
inline constexpr std::uint64_t kLookTicks = 2'000;
// Four microseconds, and never more than eight: while messages wait in a table that has hardly any
// room for more messages.
inline constexpr std::uint64_t kCrowdedLookTicks = 4 * kLookTicks;

// An order is right again this long after it was: fifty microseconds at 2 GHz, and never more than
// a hundred. An agent that handles a message for longer than that looks to the end of all lanes
// before each; a stream does so once in a while.
inline constexpr std::uint64_t kWholeLookTicks = 100'000;
// Each of many links adds so many: a look at all of them takes a small part of that.
inline constexpr std::uint64_t kLinkTicks = 1'500;

// One thread.
class LookPace {
 public:
  static constexpr std::uint64_t kNoLimit = ~0ULL;
  // A look is over, and the next one may come so many ticks later.
  void put_off(std::uint64_t ticks) {
    looked_ticks_ = os::ticks();
    every_ticks_ = ticks;
    sends_before_ = send::sends_of_thread;
  }
  // The next one may still wait, until `most` ticks after the last one (kNoLimit: as long as it was
  // put off): it is not time, and this thread has sent nothing since, which is looked for each
  // time.
  [[nodiscard]] bool may_wait(std::uint64_t most) const {
    return has_not_sent() && os::ticks() - looked_ticks_ < std::min(every_ticks_, most);
  }
  // A look has gone to the end of all lanes, of so many links.
  void note_whole(std::size_t links) {
    whole_due_ticks_ = os::ticks() + std::max(kWholeLookTicks, links * kLinkTicks);
  }
  // It is long ago, or was when the last look was put off: newer messages are compared before a
  // message is handed out.
  [[nodiscard]] bool is_whole_due(std::uint64_t now_ticks) const {
    return now_ticks >= whole_due_ticks_;
  }
  [[nodiscard]] bool was_whole_due() const { return is_whole_due(looked_ticks_); }
  // The last look found something, or nothing.
  void note_found(bool found) { found_ = found; }
  [[nodiscard]] bool found() const { return found_; }
  // This thread has sent nothing since the last look.
  [[nodiscard]] bool has_not_sent() const { return sends_before_ == send::sends_of_thread; }

 private:
  std::uint64_t looked_ticks_ = 0;
  std::uint64_t every_ticks_ = 0;
  std::uint32_t sends_before_ = 0;
  bool found_ = false;
  std::uint64_t whole_due_ticks_ = 0;
};

}  // namespace beeline
