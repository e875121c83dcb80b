#pragma once
// The order in which a sweep visits the events of an operation. Runs differ in length: a run that
// ends before its event is repeated, and does not end the sweep.

#include <cstdint>
#include <functional>
#include <string>

namespace beeline::test {

struct EventSweep {
  std::string name;          // of the operation
  std::uint64_t events = 0;  // of its first run, which meets no fault
  std::uint64_t step = 1;    // after the second one, every n-th
  std::uint64_t second = 2;
};

// Aims at the first event, the second, and every n-th from there to the last of the first run, and
// on until a run has fewer. `shoot` returns whether the run came that far. Fails if more than a
// third of the events of the first run, and a few, were never reached again.
void sweep_events(const EventSweep& sweep, const std::function<bool(std::uint64_t event)>& shoot);

}  // namespace beeline::test
