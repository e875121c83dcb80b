#pragma once

#include "src/control/hive.h"
#include "src/control/keeper_table.h"

namespace beeline::control {

// Rebuilds a hive from the keeper's table after the last coordinator died. For each agent the
// newest home that was recorded as ready counts. Ends with a complete directory, and rings every
// agent. Deaths meanwhile show as readable pidfds.
void restore(Hive& hive, KeptTable table);

}  // namespace beeline::control
