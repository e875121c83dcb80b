#pragma once

// Asks many hives for their status at a time, and waits for none of them long.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/control/wire.h"

namespace beeline::cli {

// The answers of the coordinators that listen at these sockets, in the order of `sockets`; nothing
// for a socket without an answer within `patience`, which is for all of them together. Starts
// nothing.
[[nodiscard]] std::vector<std::optional<control::StatusAnswer>> ask_hives(
    const std::vector<std::string>& sockets, std::chrono::nanoseconds patience);

}  // namespace beeline::cli
