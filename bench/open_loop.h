#pragma once
// Messages that are due at fixed times, whatever happens to earlier ones.
//
// Message k is due at start + k / rate. Its answer counts from that time, not from its send: one
// slow
// answer is no excuse for all messages that had to wait behind it ("coordinated omission"). The
// delay
// of sends is recorded separately. Reads no clock.

#include <cstdint>

namespace beeline::bench {

class OpenLoop {
 public:
  // `rate`: messages a second, `wanted` in all.
  OpenLoop(std::int64_t start_ns, double rate, std::uint64_t wanted)
      : start_ns_(start_ns), period_ns_(1e9 / rate), wanted_(wanted) {}

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t answered() const { return answered_; }
  [[nodiscard]] bool all_sent() const { return sent_ == wanted_; }
  [[nodiscard]] bool all_answered() const { return answered_ == wanted_; }

  // When the next unsent message is due. REQUIRES: !all_sent().
  [[nodiscard]] std::int64_t next_due_ns() const { return due_ns(sent_); }
  [[nodiscard]] bool is_due(std::int64_t now_ns) const {
    return !all_sent() && now_ns >= next_due_ns();
  }

  // The next message was sent. Returns how late.
  std::int64_t note_sent(std::int64_t now_ns) { return now_ns - due_ns(sent_++); }
  // The answer to the next message came. Returns the time since that was due.
  std::int64_t note_answer(std::int64_t now_ns) { return now_ns - due_ns(answered_++); }

 private:
  [[nodiscard]] std::int64_t due_ns(std::uint64_t number) const {
    return start_ns_ + static_cast<std::int64_t>(static_cast<double>(number) * period_ns_);
  }

  std::int64_t start_ns_;
  double period_ns_;
  std::uint64_t wanted_;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace beeline::bench
