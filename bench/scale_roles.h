#pragma once
// What the agents of a hive do while its size is measured.

#include <cstdint>
#include <vector>

#include "bench/crowd.h"

namespace beeline::bench {

/// What the lead is told to do.
enum class LeadTask : std::uint32_t {
  kRoundTrips,  ///< with the first and with the last member
  kTalk,        ///< let every member open a link to every other and send it a message
  kLives,       ///< answer an agent that comes and goes
  kEnd,
};

/// Where CrowdPage::results holds what, in nanoseconds.
enum class LeadResult : std::size_t {
  kAlone,
  kFirst,
  kLast,
  kTalk,
  kLife,
  kRounds,  ///< a number: with the first or with the last member, whichever had fewer
};
[[nodiscard]] std::uint64_t& result_of(CrowdPage& page, LeadResult which);

/// Round trips with the only member that there is. As in all of them both sides poll, while the
/// other members sleep; in mode sleep both sleep. Who waits in receive() in mode adaptive is awake
/// or asleep as it happens, which is a factor of a hundred.
[[nodiscard]] Result<void> measure_alone(CrowdPage& page, Agent& agent,
                                         const std::vector<Peer>& members, const Case& what);
/// Does what it is told until the end.
[[nodiscard]] Result<void> obey(CrowdPage& page, Agent& agent, const std::vector<Peer>& members,
                                const Case& what);

/// For play_member(): talks to all other members when it is told to.
[[nodiscard]] Hear make_talker();

/// An agent that attaches under the same name again and again; each life opens its link to the
/// lead, has a message answered, and ends, by which both links are closed.
[[nodiscard]] Result<void> play_lives(CrowdPage& page, std::size_t lives);

}  // namespace beeline::bench
