#pragma once

// The agents of a hive and their states.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/types.h>

namespace beeline {

/// State of an agent. The agent itself says the first four; the coordinator knows the last two.
enum class State : std::uint8_t {
  kIdle = 0,      ///< nothing in hand; also an agent that is just attaching
  kRunning = 1,   ///< holds a message that it has not finished
  kBlocked = 2,   ///< waits for an answer, for space at a receiver, or for an agent to come
  kSleeping = 3,  ///< the agent said so: Agent::set_sleeping()
  kZombie = 4,    ///< its process has ended; its inbox takes messages for the next attach
  kDead = 5,      ///< finally dead; it takes nothing more
};

/// The word for a state, for example "idle".
[[nodiscard]] std::string_view to_string(State state);

/// An agent as the coordinator knows it.
struct AgentInfo {
  Pid pid = 0;
  Pid parent = 0;  ///< 0: it is the coordinator itself
  std::string name{};
  std::string role{};
  State state = State::kIdle;
  std::uint32_t children = 0;        ///< as many as Agent::children() would list
  std::int64_t started_unix_ns = 0;  ///< time of its first attach to this hive
  std::int64_t away_unix_ns = 0;     ///< since when it has no process; 0: it has one, or this
                                     ///< coordinator did not see its end
  std::int32_t os_pid = 0;           ///< for people, never an identity; 0: it has no process
  std::uint32_t uid = 0;             ///< the user who owns its name: that of its first life
  std::uint64_t restarts = 0;        ///< lives before this one
  bool temporary = false;
  bool was_ready = false;  ///< a process of it has finished its attach, now or before
};

/// The agent of a list that a name or a pid in decimal means, as Agent::find() reads it; null if
/// there is none. For the lists of EventLoop::next_list().
[[nodiscard]] const AgentInfo* find_agent(const std::vector<AgentInfo>& agents,
                                          std::string_view name);

}  // namespace beeline
