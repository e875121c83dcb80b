#pragma once
// What the agents that are killed at a chosen event (kill_victim.cc) and their director share.

#include "tests/fault/ledger.h"

namespace beeline::test {

// What the process does while its events count. Before that it has done what is needed for it.
enum class Part : std::uint32_t {
  kWake,     // sends to an agent that sleeps
  kSleep,    // falls asleep, is woken, takes the message
  kOpen,     // opens a link, sends through it
  kMap,      // is told of a link, maps it, takes what lies in it
  kDetach,   // detaches after it has sent
  kFade,     // drains the link of an agent that has ended, and lets go of it
  kHold,     // takes messages and finishes one of them
  kSucceed,  // attaches as the successor of kHold, takes all, answers
  kResume,   // comes back to a restarted coordinator, sends
  kFinish,   // finishes a message that it holds
};

// The numbers of the ledger.
inline constexpr std::uint32_t kFar = 0;
inline constexpr std::uint32_t kVictim = 1;
inline constexpr std::uint32_t kGuest = 2;

// How many messages kMap and kFade find.
inline constexpr int kFound = 3;

struct VictimBoard {
  std::atomic<std::uint32_t> turn;  // of the victim that is started now
  std::atomic<std::uint64_t> at;    // the event before which it dies
  Event ready;                      // victims that have done what is needed
  Event go;                         // turns that may do their part
  std::atomic<std::uint32_t> over;  // the turn whose part has come to its end
  Ledger ledger;
};

// Lies in the lane, or in a slab.
inline constexpr std::size_t kSmall = 40;
inline constexpr std::size_t kInSlab = 300;

}  // namespace beeline::test
