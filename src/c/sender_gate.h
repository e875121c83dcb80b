#pragma once

#include <atomic>
#include <optional>
#include <shared_mutex>

#include <beeline/agent.h>

namespace beeline::c {

// The way of other threads to an agent: open until the agent is closed. The agent and its senders
// own it together.
class SenderGate {
 public:
  explicit SenderGate(Agent& agent) : sender_(agent.shared_sender()) {}
  SenderGate(const SenderGate&) = delete;
  SenderGate& operator=(const SenderGate&) = delete;

  // As SharedSender::send(). Nothing: the agent was closed.
  [[nodiscard]] std::optional<SendResult> send(Peer to, Payload payload, const SendOptions& options,
                                               Deadline deadline);
  // Turns away new calls, and those that wait for room.
  void begin_close() { is_closing_.store(true, std::memory_order_release); }
  // Waits for calls that have begun. None touches the agent from now on.
  void close();

 private:
  std::atomic<bool> is_closing_ = false;
  std::shared_mutex mutex_{};
  std::optional<SharedSender> sender_;  // guarded by mutex_; nothing once the agent was closed
};

}  // namespace beeline::c
