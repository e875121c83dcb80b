#pragma once

#include "src/control/hive.h"
#include "src/control/keeper_table.h"

namespace beeline::control {

/// Puts the king into an empty hive.
void add_king(Hive& hive);

/// Rebuilds a hive from what the keeper held when the last coordinator died: the home that counts
/// is the newest that was said to be ready. Ends with a directory that is complete, and rings
/// everybody. Deaths meanwhile show as readable pidfds.
void restore(Hive& hive, KeptTable table);

}  // namespace beeline::control
