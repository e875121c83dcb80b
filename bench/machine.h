#pragma once

#include <string>

#include "bench/table.h"

namespace beeline::bench {

// The machine that the figures were measured on: model and number of CPUs, their distances as the
// system gives them, kernel, governor, memory, compiler. A value that the system does not give is
// "unknown".
[[nodiscard]] Row machine_json();

// The name of the file system that a directory lies on, or its number if it has no name here.
[[nodiscard]] std::string file_system_of(const std::string& dir);

}  // namespace beeline::bench
