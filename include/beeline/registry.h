#pragma once

// Who is in the hive, and in what state.

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline {

/// What an agent is at. The first four are what it says of itself; the last two are what the
/// coordinator knows.
enum class State : std::uint8_t {
  kIdle = 0,      ///< nothing in hand; also one that is just attaching
  kRunning = 1,   ///< holds a message that it has not finished
  kBlocked = 2,   ///< waits for an answer, for space at a receiver, or for an agent to come
  kSleeping = 3,  ///< it said so: Agent::set_sleeping()
  kZombie = 4,    ///< its process has ended; its inbox takes messages for the next attach
  kDead = 5,      ///< finally; it takes nothing more
};

/// The word for a state, for example "idle".
[[nodiscard]] std::string_view to_string(State state);

/// An agent as the coordinator knows it.
struct AgentInfo {
  Pid pid = 0;
  Pid parent = 0;  ///< 0: it is the coordinator
  std::string name{};
  std::string role{};
  State state = State::kIdle;
  std::uint32_t children = 0;        ///< as many as Agent::children() would list
  std::int64_t started_unix_ns = 0;  ///< of its first attach to this hive
  std::int64_t away_unix_ns = 0;     ///< since when it has no process; 0: it has one, or its end
                                     ///< was not seen by the coordinator that runs now
  std::int32_t os_pid = 0;           ///< for people, never an identity; 0: it has no process
  std::uint32_t uid = 0;             ///< the user whose name it is: that of its first life
  std::uint64_t restarts = 0;        ///< lives before this one
  bool temporary = false;
};

}  // namespace beeline
