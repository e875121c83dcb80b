#pragma once

// How lives and agents end. Death is a readable pidfd and nothing else; a detach and a fence end a
// life whose process goes on.

#include <cstdint>
#include <string_view>

#include "src/control/hive.h"

namespace beeline::control {

enum class LifeEnd : std::uint8_t { kDied, kDetached, kFenced };

[[nodiscard]] constexpr std::string_view to_string(LifeEnd end) noexcept {
  switch (end) {
    case LifeEnd::kDied:
      return "died";
    case LifeEnd::kDetached:
      return "detached";
    case LifeEnd::kFenced:
      return "fenced";
  }
  return "unknown";
}

/// How long an agent that lost its connection may take to resume before it is fenced, as the
/// coordinator has listened: one that was stopped, or has waited for its keeper, has heard nobody.
inline constexpr std::int64_t kFenceNs = 5'000'000'000;
/// What one turn of the coordinator's loop counts at most.
inline constexpr std::int64_t kMostPerTurnNs = 500'000'000;

/// Ends a life: directory word, parent, peers. The agent is away afterwards, or finally dead if it
/// is temporary; a life that was never ready leaves no trace. Pointers to `life` end with it.
void end_life(Hive& hive, Agent& agent, Life& life, LifeEnd how);

/// The process of a life has ended: what it had sent before counts first (a fade, a detach, a
/// ready), then the life ends.
void bury(Hive& hive, Pid pid, std::uint64_t incarnation);

/// The connection of an agent broke, and is closed. Starts the time in which it may resume, which a
/// coordinator that comes after us grants again unless the keeper is behind, and rings it: asleep,
/// it would not see that in time.
void lose_connection(Hive& hive, Pid pid, std::uint64_t incarnation, std::uint64_t session);

/// The time in which it may resume begins.
void await_resume(Hive& hive, Pid pid, Life& life);

/// Ends lives whose time to resume is over and forgets old tombstones. Returns the monotonic time
/// at which it wants to be called again, 0 for never.
std::int64_t end_overdue(Hive& hive, std::int64_t now_ns);

/// Tells an agent of the deaths of its children that it could not be told of: it was away, had not
/// resumed yet, or its socket was full. Those for which there is still no room stay untold, also to
/// the next coordinator. Does nothing while it has no ready life with a connection.
void tell_deaths(Hive& hive, Agent& agent);

/// The parent of an agent, unless nobody can tell it anything any more.
[[nodiscard]] Agent* parent_to_tell(Hive& hive, Pid pid);

/// For tell_deaths(). The newest deaths are kept: 256 of a parent, 4,096 in the hive, of which
/// whoever has the most gives up its oldest. What is given up counts as told, and is logged.
void queue_death(Hive& hive, Agent& parent, DiedAnnouncement died);

/// Called when the take-over of a finally dead agent is complete: forgets what only it needed, and
/// gives its place in the directory to others.
void finish_death(Hive& hive, Pid pid);

/// Starts the last time in which the agent can be asked for, if it is finally dead and taken over,
/// nothing is left of its links, and its parent was told.
void forget_if_done(Hive& hive, Pid pid);

}  // namespace beeline::control
