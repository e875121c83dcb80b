#pragma once

// Predicts how the receiver of an inbox will store a message that still lies in a lane: its rank by
// relation, a plausible time, and whether the sender may steer the receiver. See
// src/receive/rank.h.

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "shm/verify.h"
#include "src/look/segments.h"

namespace beeline::look {

class InboxJudge {
 public:
  // `home`: the home of the receiver. Both are only read here.
  InboxJudge(const Segments& all, const Segment& home);

  // The header as the receiver will store it. `type`: its text; `earliest_ns`: the earliest time
  // at which it can have been sent.
  [[nodiscard]] shm::MessageHeader judge(shm::MessageHeader header, const Segment& link,
                                         std::string_view type, std::int64_t earliest_ns) const;

 private:
  [[nodiscard]] bool is_above(std::uint32_t pid) const;

  std::unordered_map<std::uint32_t, shm::AgentRecord> agents_;
  std::uint32_t receiver_;
  std::int64_t now_ns_;
  bool by_relation_;
};

}  // namespace beeline::look
