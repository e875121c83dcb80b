#pragma once
// When an agent takes its turn: it looks at the control socket, the directory and everything that
// is due. A busy agent does so once for each tick of the coarse clock.

#include <cstdint>

#include "src/agent/recorder.h"
#include "src/receive/receiver.h"

namespace beeline {

class AgentCore;

// One thread.
class Turn {
 public:
  Turn(AgentCore& core, const Recorder::Needs& needs)
      : core_(core), receiver_(needs.receiver), recorder_(needs) {}

  // Takes the turn. It blocks for a few milliseconds where the coordinator must be found again.
  void take();
  // The same unless it was taken a moment ago. `now_ns`: coarse clock.
  [[gnu::always_inline]] void take_at(std::int64_t now_ns) {
    if (now_ns >= due_ns_) take_now(now_ns);
  }
  // For loops that look all the time and at no clock.
  void take_sometimes();
  // When it was taken last, on the coarse clock.
  [[nodiscard]] std::int64_t taken_ns() const { return taken_ns_; }
  // Each turn looks whether this agent is to record its messages.
  [[nodiscard]] Recorder& recorder() { return recorder_; }

 private:
  static constexpr std::int64_t kTick = 4'000'000;
  static constexpr std::uint32_t kAsksPerClock = 256;

  void take_now(std::int64_t now_ns);

  AgentCore& core_;
  receive::Receiver& receiver_;
  Recorder recorder_;
  std::int64_t taken_ns_ = 0;
  std::int64_t due_ns_ = 0;
  std::uint32_t asks_ = 0;
};

}  // namespace beeline
