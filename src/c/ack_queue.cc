#include "src/c/ack_queue.h"

#include <utility>

namespace beeline::c {

Result<MessageId> AckQueue::send(Agent& agent, const To& to, Payload payload, Deadline deadline,
                                 const SendOptions& options) {
  const auto at = open_.emplace(open_.end());
  const auto then = [this, at](Result<Acknowledgement> outcome) {
    at->outcome = std::move(outcome);
    come_.splice(come_.end(), open_, at);
  };
  auto sent = agent.send_acked_then(to, payload, deadline, then, options);
  if (sent) {
    at->id = *sent;
  } else {
    open_.erase(at);
  }
  return sent;
}

std::optional<AckQueue::Waiting> AckQueue::next() {
  if (come_.empty()) return std::nullopt;
  std::optional<Waiting> first(std::move(come_.front()));
  come_.pop_front();
  return first;
}

}  // namespace beeline::c
