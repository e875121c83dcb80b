#pragma once
// The source of messages for the receiver of a stream.

#include <cstddef>
#include <utility>
#include <vector>

#include <beeline/agent.h>

namespace beeline::bench {

// One by one, or up to `batch` of them for one call. Must not outlive the agent.
class Intake {
 public:
  explicit Intake(std::size_t batch) : batch_(batch > 1 ? batch : 0) {}

  // The next message, waited for. Errors: those of Agent::receive_batch().
  [[nodiscard]] Result<Message> next(Agent& agent) {
    if (batch_.empty()) return agent.receive();
    if (next_ == count_) {
      const auto count = agent.receive_batch(batch_);
      if (!count) return tl::unexpected(count.error());
      count_ = *count;
      next_ = 0;
    }
    return std::move(batch_[next_++]);
  }

 private:
  std::vector<Message> batch_;  // empty: one by one
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace beeline::bench
