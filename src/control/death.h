#pragma once

// How lives and agents end. Death is a readable pidfd and nothing else; a detach and a fence end a
// life while its process goes on.

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

// How long an agent that lost its connection may take to resume before it is fenced. Only time in
// which the coordinator listened counts: while it was stopped, or waited for its keeper, it heard
// no agent.
inline constexpr std::int64_t kFenceNs = 5'000'000'000;
// The most that one turn of the coordinator's loop counts.
inline constexpr std::int64_t kMostPerTurnNs = 500'000'000;

// Ends a life: directory word, parent, peers. The agent is away afterwards, or finally dead if it
// is temporary; a life that was never ready leaves no trace. Pointers to `life` end with it.
void end_life(Hive& hive, Agent& agent, Life& life, LifeEnd how);

// The process of a life has ended: first handles the packets that it had sent before (a fade, a
// detach, a ready), then ends the life.
void bury(Hive& hive, Pid pid, shm::Incarnation incarnation);

// The connection of an agent broke, and is closed. Starts the time in which the agent may resume
// and rings it, because it would not notice in time while asleep. A later coordinator grants that
// time again, unless the keeper is behind.
void lose_connection(Hive& hive, Pid pid, shm::Incarnation incarnation, std::uint64_t session);

// Starts the time in which a life may resume.
void await_resume(Hive& hive, Pid pid, Life& life);

// Ends lives that did not resume in time and forgets old tombstones. Returns the monotonic time at
// which it wants to be called again, 0 for never.
std::int64_t end_overdue(Hive& hive, std::int64_t now_ns);

// Tells an agent of the deaths of its children that it was not told of: it was away, had not
// resumed yet, or its socket was full. Deaths that still find no room stay untold, also for the
// next coordinator. Does nothing while the agent has no ready life with a connection.
void tell_deaths(Hive& hive, Agent& agent);

// The parent of an agent; null if it is dead and can be told nothing any more.
[[nodiscard]] Agent* parent_to_tell(Hive& hive, Pid pid);

// Queues a death for tell_deaths(). The newest deaths are kept: 256 of a parent, 4,096 in the
// hive; beyond that the parent with the most loses its oldest. A lost death counts as told, and is
// logged.
void queue_death(Hive& hive, Agent& parent, DiedAnnouncement died);

// Called when the take-over of a finally dead agent is complete: forgets everything that only the
// take-over needed, and gives the agent's place in the directory to others.
void finish_death(Hive& hive, Pid pid);

}  // namespace beeline::control
