#pragma once
// The scenarios. Each is one meeting of two or three threads at the real headers.

#include <vector>

#include "tests/explore/explorer.h"

namespace beeline::explore {

using Scenarios = std::vector<Scenario>;

// Deeper forms of some, with more messages.
enum class Depth { kShort, kLong };

void add_lane_scenarios(Scenarios& all, Depth depth);       // lane, slot, slab, strings
void add_bank_scenarios(Scenarios& all, Depth depth);       // receipt banks
void add_wake_scenarios(Scenarios& all, Depth depth);       // sleeping, space
void add_directory_scenarios(Scenarios& all, Depth depth);  // directory, headers
void add_history_scenarios(Scenarios& all, Depth depth);    // rows of a history
void add_home_scenarios(Scenarios& all, Depth depth);       // killed inside an inbox
void add_takeover_scenarios(Scenarios& all, Depth depth);   // killed, while another thread goes on

}  // namespace beeline::explore
