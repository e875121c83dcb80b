#pragma once

// A request that a signal can end, and what becomes of its message when nobody waits any more.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/agent.h>

#include "tools/beeline/signals.h"

namespace beeline::cli {

struct Asked {
  std::optional<Result<Message>> reply;  ///< nothing where the wait ended before there was one
  bool is_stopped = false;               ///< by a signal
  std::string fate;                      ///< of the message, where the wait ended
  std::chrono::nanoseconds waited{};     ///< until there was a reply, or the wait ended
};

struct Asking {
  Peer to;
  std::string name;  ///< of the receiver, for people
  Deadline deadline;
  bool leave = false;  ///< the message stays with its receiver
};

/// Sends a request and waits for the reply. At the deadline, and after a signal, it takes the
/// message back and waits up to a second, or until the next signal, for what the receiver says to
/// that; a reply that comes meanwhile counts.
[[nodiscard]] Asked ask(Agent& agent, Signals& signals, const Asking& asking, std::string_view body,
                        const SendOptions& options);

}  // namespace beeline::cli
