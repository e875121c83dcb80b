#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

/// The place of a message in an inbox.
enum class InboxPlace : std::uint8_t {
  kQueued,    ///< waits in the inbox
  kLane,      ///< accepted, but not taken into the inbox yet
  kTask,      ///< a task that waits for its handler
  kAwaited,   ///< an answer to a request that waits
  kStashed,   ///< an answer that no call waits for
  kOrder,     ///< an order to cancel a message that has not come yet
  kUnwanted,  ///< a copy that the agent drops at its next look
  kLeased,    ///< handed out and not finished
  kDead,      ///< a dead letter
};

/// The word for a place, for example "queued".
[[nodiscard]] std::string_view to_string(InboxPlace place);

/// A message of another agent.
struct SeenMessage : InboxItem {
  InboxPlace place = InboxPlace::kQueued;
};

/// The inbox of another agent. See look_into_inbox().
struct SeenInbox {
  Pid pid = 0;         ///< of the agent
  std::string name{};  ///< of the agent
  /// First those that wait, queued and in lanes, in the order of their delivery; then those that
  /// lie aside: tasks, awaited, stashed, orders and unwanted ones; then leased ones; then dead
  /// letters. `rank` and `sent_ns` of a message in a lane are as the inbox will store them. One
  /// that waits and has expired has a `reason`: the agent will not hand it out.
  std::vector<SeenMessage> messages{};
  std::size_t length = 0;  ///< how many wait to be handed out: queued or in a lane, and not expired
  /// Links to the agent that are not what a link must be, because their owners wrote over them: the
  /// messages in their lanes are not listed.
  std::size_t damaged_links = 0;
};

struct LookOptions {
  std::string hive{};  ///< empty: $BEELINE_HIVE, else "default"
  std::chrono::nanoseconds control_timeout = std::chrono::seconds(10);  ///< for each answer of the
                                                                        ///< coordinator
};

/// Lists the inbox of an agent, by its name or its pid in decimal, as `beeline inbox` does. Takes
/// and changes nothing, and the agent does not notice. It may have no process: then its messages
/// wait for the next attach under its name. The caller need not be an agent; it must be the user of
/// the hive, or root. An agent that works meanwhile is seen in motion: a message that moves is
/// listed once, one that ends may be listed or not.
///
/// Any thread may call it. It starts no coordinator. It waits for the coordinator, and up to a few
/// seconds for memory of a link that the coordinator knows and the keeper of the hive has not
/// received yet. It takes the time to copy the memory of the inbox and of the links to it.
///
/// Errors: kNoCoordinator, kNoAgent (also one that is finally dead), kDenied (the hive belongs to
/// another user, or its keeper cannot be inspected from here), kBadSegment (the inbox itself is
/// damaged), kWrongVersion, kInvalid (name of the hive), kTimeout, kClosed, kProtocol, kSystem.
[[nodiscard]] Result<SeenInbox> look_into_inbox(std::string_view agent,
                                                const LookOptions& options = {});

}  // namespace beeline
