#include "src/c/sender_gate.h"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace beeline::c {

namespace {

// A call that waits for room looks this often whether the agent is being closed.
constexpr std::chrono::milliseconds kSlice{20};

}  // namespace

std::optional<SendResult> SenderGate::send(Peer to, Payload payload, const SendOptions& options,
                                           Deadline deadline) {
  for (;;) {
    if (is_closing_.load(std::memory_order_acquire)) return std::nullopt;
    const std::shared_lock lock(mutex_);
    if (!sender_) return std::nullopt;
    const Deadline until =
        deadline == Deadline::min() ? deadline : std::min(deadline, after(kSlice));
    const SendResult sent = sender_->send(to, payload, options, until);
    const bool may_wait =
        sent.status == SendStatus::kFull || sent.status == SendStatus::kRateLimited;
    if (!may_wait || until == deadline) return sent;
  }
}

void SenderGate::close() {
  begin_close();
  const std::unique_lock lock(mutex_);
  sender_.reset();
}

}  // namespace beeline::c
