#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include <beeline/agent.h>
#include <beeline/c/agent.h>

namespace beeline::c {

// The acknowledgements that an agent waits for in the background, and those that have come. The
// place of each is made before its message is sent, so none is lost for want of memory.
class AckQueue {
 public:
  struct Waiting {
    MessageId id = 0;
    Result<Acknowledgement> outcome{};
  };

  AckQueue() = default;
  AckQueue(const AckQueue&) = delete;
  AckQueue& operator=(const AckQueue&) = delete;

  [[nodiscard]] Result<MessageId> send(Agent& agent, const To& to, Payload payload,
                                       Deadline deadline, const SendOptions& options);
  [[nodiscard]] std::size_t size() const { return come_.size(); }
  // The next one that has come, or nothing.
  [[nodiscard]] std::optional<Waiting> next();

 private:
  std::list<Waiting> open_{};
  std::list<Waiting> come_{};
};

}  // namespace beeline::c
