#pragma once

// A verb as an agent: how it attaches, and how it waits for messages and for signals at once.

#include <optional>
#include <string>

#include <beeline/agent.h>

#include "src/control/client.h"
#include "tools/beeline/options.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {

/// Attaches, and says so on stderr where it has started the hive. An agent that is known keeps the
/// parent of its first attach: asking for another one is an error. Errors: kInvalid (that), those
/// of Agent::attach.
[[nodiscard]] Result<Agent> attach(const Context& context, const AttachOptions& options);

/// The agent behind a verb that sends: the named one, or a temporary one for no name. A name that
/// the hive knows stays with its inbox; a new one goes with the command, unless it is to be kept.
[[nodiscard]] Result<Agent> attach_sender(const Context& context, const SenderArguments& sender,
                                          const AttachArguments& arguments);

/// After a hive was started, says whether another one of its name runs in another place.
void tell_others(const control::Client& client);

/// Tells, when a temporary agent with a name ends, what becomes of the messages that still wait for
/// it. The agent outlives this object and leaves after it.
class LastWords {
 public:
  LastWords(Agent& agent, const std::string& name) : agent_(agent), name_(name) {}
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

 private:
  Agent& agent_;
  const std::string& name_;  // empty: nobody writes to it
};

enum class Arrival {
  kMessage,
  kSignal,    ///< asked to end
  kShutdown,  ///< the hive went down
  kTimeout,
};

struct Next {
  Arrival arrival = Arrival::kTimeout;
  Message message;  ///< valid for kMessage
};

/// The text for a verb that ends because its hive went down.
[[nodiscard]] std::string went_down(const std::string& hive);

/// Whether the hive went down. Takes all notices that wait.
[[nodiscard]] bool has_shut_down(Agent& agent);

/// Waits for the next message that `filter` selects. Sleeps in the kernel meanwhile: peers wake it
/// through Agent::fd().
[[nodiscard]] Next next_message(Agent& agent, Signals& signals, const Filter& filter,
                                Deadline deadline);

}  // namespace beeline::cli
