#pragma once

// Pid 1. It is in the tree from the start; its home, inbox and links are those of the steward, a
// program that the keeper starts when somebody opens a link to pid 1. The steward proves itself by
// the keeper's secret. With no steward installed pid 1 takes no messages.

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Adds pid 1, which has no life yet, to tree, registry and directory.
void add_king(Hive& hive);

// True if pid 1 shows itself as the coordinator, because it never had a life and nobody has called
// it.
[[nodiscard]] bool is_alone(const Hive& hive, const Agent& agent);

// A new random word, in hexadecimal digits. Errors: kSystem.
[[nodiscard]] Result<std::string> make_secret();

// Errors: kDenied, unless it is the keeper's secret.
[[nodiscard]] Result<void> check_secret(const Hive& hive, const std::string& secret);

// Asks the keeper for a steward. Called for each link to pid 1; the keeper starts only one.
void call_steward(Hive& hive);

// Reserves an agent, see ReserveRequest. Errors: kDenied (the secret, or the role), kNoAgent and
// kPeerDead (the parent, or the pid), kAlreadyRunning (the pid has a process, or another agent has
// the name), kInvalid (the name), those of make_agent() and of the keeper.
[[nodiscard]] Result<void> reserve(Hive& hive, const Caller& caller, std::uint64_t seq,
                                   const ReserveRequest& request);

// Finds the agent whose ticket this request of the process `pidfd` brings; null if it is an
// ordinary request. Errors: kDenied (another user's ticket, a name that is reserved, a ticket that
// is good no more).
[[nodiscard]] Result<Agent*> agent_of_ticket(Hive& hive, const Caller& caller,
                                             const AttachRequest& request, int pidfd);

// From now on this connection hears of all lives. Errors: kDenied.
[[nodiscard]] Result<void> watch_lives(Hive& hive, const Caller& caller, std::uint64_t seq,
                                       const WatchRequest& request);
// Tells it; does nothing while nobody watches.
void tell_watcher(Hive& hive, std::string_view what, Pid pid, std::string text = {});
// This connection has ended.
void forget_watcher(Hive& hive, std::uint64_t session);

// Begins the end of the hive, once pid 1 has ended its processes if it has any.
void end_hive(Hive& hive, std::string reason);
// Begins it though pid 1 has not said a word. Returns when it wants to be called again, 0 for
// never.
std::int64_t end_waiting(Hive& hive, std::int64_t now_ns);

}  // namespace beeline::control
