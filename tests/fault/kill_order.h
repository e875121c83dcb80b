#pragma once
// When a process under the trap (kill_trap.cc) dies. The order lies in memory that the test and the
// processes under the trap share.
//
// An event is a system call, or an instruction that stores into a segment. The order names the
// event
// before which the process kills itself: the event before it has happened, this one never does. No
// other process can see actions between two events, so the end before the next event also stands
// for
// the end after the last one.

#include <atomic>
#include <cstdint>

namespace beeline::test {

struct KillOrder {
  std::atomic<std::uint32_t> armed;   // events count
  std::atomic<std::int32_t> process;  // count those of this one; 0: of all but `spared`
  std::atomic<std::int32_t> spared;
  std::atomic<std::uint64_t> at;  // from 1; 0: nobody dies
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> stores;
  std::atomic<std::int32_t> killed;  // the process that died; 0: none yet
  // The event that did not happen.
  std::int64_t call;     // number of the system call, -1: a store
  std::uint64_t offset;  // of the store, in the segment of this name
  char segment[128];
};

// The environment of a process under the trap names the file of its order.
inline constexpr const char* kKillOrderVariable = "BEELINE_KILL_ORDER";

}  // namespace beeline::test
