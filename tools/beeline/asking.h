#pragma once

// A request that a signal can end, and the fate of its message after the wait has ended.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/agent.h>

#include "tools/beeline/signals.h"

namespace beeline::cli {

struct Asked {
  std::optional<Result<Message>> reply;  // nothing if the wait ended before a reply came
  bool is_stopped = false;               // by a signal
  std::string fate;                      // of the message, if the wait ended first
  std::chrono::nanoseconds waited{};     // until the reply came or the wait ended
};

struct Asking {
  Peer to;
  std::string name;  // of the receiver, shown to people
  Deadline deadline;
  bool leave = false;  // leave the message with its receiver
};

// Sends a request and waits for the reply. At the deadline or after a signal it takes the message
// back. Then it waits up to a second, or until the next signal, for the receiver's word on that. A
// reply that comes meanwhile counts.
[[nodiscard]] Asked ask(Agent& agent, Signals& signals, const Asking& asking, std::string_view body,
                        const SendOptions& options);

}  // namespace beeline::cli
