#pragma once

// What the receiver of an inbox will make of a message that lies in a lane still: the rank that the
// relation gives, the time that can be, who may steer whom. See src/receive/rank.h.

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "shm/verify.h"
#include "tools/shm_dump/segments.h"

namespace beeline::cli {

class InboxJudge {
 public:
  /// `home`: of the receiver. Both are read here alone.
  InboxJudge(const dump::Segments& all, const dump::Segment& home);

  /// The header as it will be stored. `type`: its text; `earliest_ns`: it was not sent before.
  [[nodiscard]] shm::MessageHeader judge(shm::MessageHeader header, const dump::Segment& link,
                                         std::string_view type, std::int64_t earliest_ns) const;

 private:
  [[nodiscard]] bool is_above(std::uint32_t pid) const;

  std::unordered_map<std::uint32_t, shm::AgentRecord> agents_;
  std::uint32_t receiver_;
  std::int64_t now_ns_;
  bool by_relation_;
};

}  // namespace beeline::cli
