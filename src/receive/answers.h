#pragma once
// Who waits for which answer, and which answers this agent has ever asked for.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shm/index.h"
#include "shm/slot.h"

namespace beeline::receive {

// A request that waits for its answer; lies with the caller while it waits.
struct PendingReply {
  std::uint64_t request_id = 0;
  std::uint64_t alias = 0;              // another id that the answer may name, 0 = none
  std::uint32_t from = 0;               // the only agent whose answer counts
  bool for_ack = false;                 // waits for the acknowledgement, not for an answer
  std::uint32_t entry = shm::kNoEntry;  // set when the answer has come
};

class Answers {
 public:
  void expect(PendingReply& pending) { pending_.push_back(&pending); }
  void stop_expecting(PendingReply& pending) { std::erase(pending_, &pending); }

  [[nodiscard]] bool nobody_waits() const { return pending_.empty(); }
  // Whoever waits for this message of `from`, or null.
  [[nodiscard]] PendingReply* waiting_for(std::uint32_t from,
                                          const shm::MessageHeader& header) const;

  // `from` was asked: its answer is never an ordinary message. `open`: the first one is welcome
  // whenever it comes. The newest kRemembered are known.
  void remember(std::uint64_t id, std::uint32_t from, bool open);
  // Whether `from` answers something that it was asked.
  [[nodiscard]] bool was_asked(std::uint64_t id, std::uint32_t from) const;
  // Counts the first answer to an open question as come. False: it is late, or one too many.
  [[nodiscard]] bool close(std::uint64_t id, std::uint32_t from);

 private:
  struct Asked {
    std::uint64_t id = 0;
    std::uint32_t from = 0;
    bool open = false;
  };
  static constexpr std::size_t kRemembered = 1024;
  [[nodiscard]] const Asked* find(std::uint64_t id, std::uint32_t from) const;

  std::vector<PendingReply*> pending_;
  std::vector<Asked> asked_;                                 // a ring
  std::size_t next_ = 0;                                     // place in it
  std::unordered_map<std::uint64_t, std::size_t> place_of_;  // by id
};

}  // namespace beeline::receive
