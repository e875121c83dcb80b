#pragma once
// The work of a hive's agents while its size is measured.

#include <cstdint>
#include <vector>

#include "bench/crowd.h"

namespace beeline::bench {

// The orders to the lead.
enum class LeadTask : std::uint32_t {
  kRoundTrips,  // with the first and with the last member
  kTalk,        // let every member open a link to every other and send it a message
  kLives,       // answer an agent that attaches and leaves
  kEnd,
};

// The places of values in CrowdPage::results, in nanoseconds.
enum class LeadResult : std::size_t {
  kAlone,
  kFirst,
  kLast,
  kTalk,
  kLife,
  kRounds,  // a number: for the first or the last member, the smaller one
};
[[nodiscard]] std::uint64_t& result_of(CrowdPage& page, LeadResult which);

// Round trips with the only member. As always both sides poll, while the other members sleep; in
// mode sleep both sleep. In mode adaptive a wait in receive() would be awake or asleep by chance,
// which is a factor of a hundred.
[[nodiscard]] Result<void> measure_alone(CrowdPage& page, Agent& agent,
                                         const std::vector<Peer>& members, const Case& what);
// Obeys the orders until the end.
[[nodiscard]] Result<void> obey(CrowdPage& page, Agent& agent, const std::vector<Peer>& members,
                                const Case& what);

// For play_member(): talks to all other members when it is told to.
[[nodiscard]] Hear make_talker();

// An agent that attaches under the same name repeatedly. Each life opens its link to the lead, has
// a message answered, and ends, which closes both links.
[[nodiscard]] Result<void> play_lives(CrowdPage& page, std::size_t lives);

}  // namespace beeline::bench
