#pragma once

// The last minute of an agent that ended for good: tools can still ask for it, then the hive
// forgets it.

#include <cstdint>

#include "src/control/hive.h"

namespace beeline::control {

// Starts the last period in which tools can ask for a finally dead agent, if it was taken over,
// nothing is left of its links, and its parent was told.
void forget_if_done(Hive& hive, Pid pid);

// Forgets the agents whose minute is over, and the oldest ones beyond 256. Returns the monotonic
// time at which it wants to be called again, 0 for never.
std::int64_t forget_rested(Hive& hive, std::int64_t now_ns);

// Frees the place of a dead agent unless it has children: their records name its place. Links of
// the dead need no place.
void give_up_place_of_the_dead(Hive& hive, Agent& agent);

}  // namespace beeline::control
