#pragma once

#include "bench/table.h"

namespace beeline::bench {

/// What the figures were measured on: model and number of CPUs, how far apart the system says that
/// they are, kernel, governor, memory, compiler. What the system does not say is "unknown".
[[nodiscard]] Row machine_json();

}  // namespace beeline::bench
