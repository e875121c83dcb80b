#pragma once

// A verb as an agent: attaches, and waits for messages and signals at once.

#include <optional>
#include <string>

#include <beeline/agent.h>

#include "src/control/client.h"
#include "tools/beeline/options.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {

// Attaches, and reports on stderr if that started the hive. A known agent keeps the parent of its
// first attach; another parent is an error. Errors: kInvalid (another parent), those of
// Agent::attach.
[[nodiscard]] Result<Agent> attach(const Context& context, const AttachOptions& options);

// The agent that a verb sends as: the named one, or a temporary one without a name. A name that
// the hive knows stays with its inbox. A new name goes with the command, unless the user wants to
// keep it.
[[nodiscard]] Result<Agent> attach_sender(const Context& context, const SenderArguments& sender,
                                          const AttachArguments& arguments);

// After a hive was started, reports another hive of the same name that runs in another place.
void tell_others(const control::Client& client);

// When a temporary agent with a name ends, reports the fate of the messages that still wait for
// it. The agent must outlive this object and leave after it.
class LastWords {
 public:
  LastWords(Agent& agent, const std::string& name) : agent_(agent), name_(name) {}
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

 private:
  Agent& agent_;
  const std::string& name_;  // empty: no agent writes to it
};

enum class Arrival {
  kMessage,
  kSignal,    // a signal asked us to end
  kShutdown,  // the hive went down
  kTimeout,
};

struct Next {
  Arrival arrival = Arrival::kTimeout;
  Message message;  // valid for kMessage
};

// The error text of a verb that ends because its hive went down.
[[nodiscard]] std::string went_down(const std::string& hive);

// Whether the hive went down. Takes all notices that wait.
[[nodiscard]] bool has_shut_down(Agent& agent);

// Waits for the next message that `filter` selects. It sleeps in the kernel meanwhile; peers wake
// it through Agent::fd().
[[nodiscard]] Next next_message(Agent& agent, Signals& signals, const Filter& filter,
                                Deadline deadline);

}  // namespace beeline::cli
