#pragma once

// Inboxes seen from outside: copies of segments are read, nothing is mapped, taken or written, and
// the agent need not have a process. Only the coordinator knows which links still count.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::cli {

/// One message that is an agent's, wherever it lies.
struct InboxLine {
  std::string place;  ///< queued, lane (accepted, not taken yet), leased or dead; beside them:
                      ///< awaited (an answer to a request that waits), stashed (one that nobody
                      ///< waits for), order (to cancel what has not come yet), unwanted (a copy
                      ///< that goes at the next look)
  std::uint64_t id = 0;
  std::uint64_t reply_to = 0;
  std::string from;  ///< name, where it is known
  std::string type;
  std::string channel;
  std::int32_t rank = 0;  ///< as it is stored; of a lane, as it will be
  std::uint32_t attempts = 0;
  std::uint32_t bytes = 0;
  std::int64_t age_ms = 0;
  std::string reason;   ///< why it is dead, or will be as soon as its agent looks
  std::string preview;  ///< the start of the payload, control characters escaped

  std::int64_t key = 0;       ///< delivery order, with `arrival`
  std::uint64_t arrival = 0;  ///< of a lane: behind all that arrived, as its sender counts
};

/// All messages of agent `pid`: what waits, in delivery order, then leased ones, then dead letters.
/// Errors: kNoCoordinator, kDenied (segments of another user), kNoAgent (no home), kSystem, and
/// those of every call of the client.
[[nodiscard]] Result<std::vector<InboxLine>> look_into_inbox(control::Client& client,
                                                             std::string_view hive,
                                                             std::uint32_t pid);

/// The whole payload of a dead letter of agent `pid`. Errors: kInvalid (it has no such letter, or
/// not any more), kNoCoordinator, kDenied, kNoAgent, kBadSegment (what the letter says of its
/// payload cannot be), kSystem.
[[nodiscard]] Result<std::string> read_dead_payload(std::string_view hive, std::uint32_t pid,
                                                    std::uint64_t id);

}  // namespace beeline::cli
