#pragma once

#include "bench/table.h"

namespace beeline::bench {

// The machine that the figures were measured on: model and number of CPUs, their distances as the
// system gives them, kernel, governor, memory, compiler. A value that the system does not give is
// "unknown".
[[nodiscard]] Row machine_json();

}  // namespace beeline::bench
