#pragma once

// Reads inboxes from outside. It only reads copies of segments. It maps, takes and writes nothing,
// and the agent need not have a process. Only the coordinator knows which links still count.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::cli {

// One message of an agent, wherever it lies.
struct InboxLine {
  std::string place;  // queued, lane (accepted, not taken yet), leased or dead. Beside them:
                      // awaited (an answer to a request that waits), stashed (an answer to none),
                      // order (to cancel a message that has not come yet), unwanted (a copy that
                      // the agent drops at its next look)
  std::uint64_t id = 0;
  std::uint64_t reply_to = 0;
  std::string from;  // name, if it is known
  std::string type;
  std::string channel;
  std::int32_t rank = 0;  // as stored; for a message in a lane, as it will be stored
  std::uint32_t attempts = 0;
  std::uint32_t bytes = 0;
  std::int64_t age_ms = 0;
  std::string reason;   // why it is dead, or will be dead as soon as its agent looks
  std::string preview;  // the start of the payload, control characters escaped

  std::int64_t key = 0;       // delivery order, with `arrival`
  std::uint64_t arrival = 0;  // for a message in a lane: behind all arrivals, in the order of its
                              // sender
};

// All messages of agent `pid`: waiting ones in delivery order, then leased ones, then dead
// letters. Errors: kNoCoordinator, kDenied (segments of another user), kNoAgent (no home),
// kSystem, and those of every call of the client.
[[nodiscard]] Result<std::vector<InboxLine>> look_into_inbox(control::Client& client,
                                                             std::string_view hive,
                                                             std::uint32_t pid);

// The whole payload of a dead letter of agent `pid`. Errors: kInvalid (it has no such letter, or
// not any more), kNoCoordinator, kDenied, kNoAgent, kBadSegment (the letter describes an
// impossible payload), kSystem.
[[nodiscard]] Result<std::string> read_dead_payload(std::string_view hive, std::uint32_t pid,
                                                    std::uint64_t id);

}  // namespace beeline::cli
