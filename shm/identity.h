#pragma once
// Numbers that name agents, lives, messages and links. Numbers that must be stored at once fit
// together in one 64-bit word.

#include <cstdint>
#include <string_view>

#include "shm/ids.h"

namespace beeline::shm {

inline constexpr std::uint32_t kMaxPid = (1U << 24) - 1;
inline constexpr std::uint64_t kMaxIncarnation = (1ULL << 56) - 1;
inline constexpr std::uint64_t kMessageCounterBits = 40;

// State of an agent in the directory. `away`: no process, its home is kept, sends are accepted.
enum class AgentState : std::uint8_t {
  kVacant = 0,
  kStarting = 1,
  kRunning = 2,
  kAway = 3,
  kDead = 4
};

[[nodiscard]] constexpr std::string_view to_string(AgentState state) {
  switch (state) {
    case AgentState::kVacant:
      return "vacant";
    case AgentState::kStarting:
      return "starting";
    case AgentState::kRunning:
      return "running";
    case AgentState::kAway:
      return "away";
    case AgentState::kDead:
      return "dead";
  }
  return "unknown";
}

// The directory word: incarnation << 8 | state. In state `starting` the incarnation is still that
// of the predecessor (0 if there is none): the word names the life that has the valid home.
struct AgentWord {
  Incarnation incarnation{};
  AgentState state = AgentState::kVacant;

  [[nodiscard]] constexpr std::uint64_t pack() const {
    return incarnation.value() << 8 | static_cast<std::uint64_t>(state);
  }
  [[nodiscard]] static constexpr AgentWord unpack(std::uint64_t word) {
    return {Incarnation(word >> 8), static_cast<AgentState>(word & 0xff)};
  }
  friend constexpr bool operator==(const AgentWord&, const AgentWord&) = default;
};

// True if this life, which was ready once, is over: another life counts, takes over from it, or may
// take over.
[[nodiscard]] constexpr bool has_ended(const AgentWord& word, Incarnation incarnation) {
  if (word.incarnation != incarnation) return word.incarnation > incarnation;
  return word.state != AgentState::kRunning && word.state != AgentState::kVacant;
}

// Message id = sender pid (24 bits) and the sender's counter (40 bits, from 1).
[[nodiscard]] constexpr std::uint64_t make_message_id(std::uint32_t pid, std::uint64_t counter) {
  return static_cast<std::uint64_t>(pid) << kMessageCounterBits |
         (counter & ((1ULL << kMessageCounterBits) - 1));
}
[[nodiscard]] constexpr std::uint32_t pid_of_message(std::uint64_t id) {
  return static_cast<std::uint32_t>(id >> kMessageCounterBits);
}
[[nodiscard]] constexpr std::uint64_t counter_of_message(std::uint64_t id) {
  return id & ((1ULL << kMessageCounterBits) - 1);
}

// A link is named by the life that owns it and by its number among the links of that life.
struct LinkKey {
  Incarnation incarnation{};
  std::uint32_t serial = 0;
  friend constexpr bool operator==(const LinkKey&, const LinkKey&) = default;
};

inline constexpr std::int32_t kRankCritical = 0;  // this rank and lower is critical
inline constexpr std::int32_t kRankNormal = 2;
inline constexpr std::int32_t kRankLow = 3;

}  // namespace beeline::shm
