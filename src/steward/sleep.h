#pragma once

// Sleep: the process of a child is stopped. It takes no messages until it is woken.

#include <string_view>

#include "src/steward/child.h"

namespace beeline::steward {

// Whether the process of this child is stopped, or is about to stop.
[[nodiscard]] bool is_asleep(Child& child);

// The state of this child as hive.list and hive.signal tell it: its phase, or "sleeping".
[[nodiscard]] std::string_view state_of(Child& child);

}  // namespace beeline::steward
