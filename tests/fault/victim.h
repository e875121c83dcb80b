#pragma once
// The state that agents which are killed at a chosen event (kill_victim.cc) share with their
// director.

#include "tests/fault/ledger.h"

namespace beeline::test {

// The action of the process while its events count. Its preparations come before that.
enum class Part : std::uint32_t {
  kWake,     // sends to an agent that sleeps
  kSleep,    // falls asleep, is woken, takes the message
  kOpen,     // opens a link, sends through it
  kMap,      // is told of a link, maps it, takes the messages in it
  kDetach,   // detaches after it has sent
  kFade,     // drains the link of an agent that has ended, and releases it
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
  Event ready;                      // victims that have finished their preparations
  Event go;                         // turns that may do their part
  std::atomic<std::uint32_t> over;  // the turn that has finished its part
  Ledger ledger;
};

// Lies in the lane, or in a slab.
inline constexpr std::size_t kSmall = 40;
inline constexpr std::size_t kInSlab = 300;

}  // namespace beeline::test
