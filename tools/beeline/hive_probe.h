#pragma once

// Asks hives how they are, many at a time and none for long.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/control/wire.h"

namespace beeline::cli {

/// The answers of the coordinators that listen at these sockets, each at the place of its socket;
/// nothing where none came within `patience`, which is for all of them together. Starts nothing.
[[nodiscard]] std::vector<std::optional<control::StatusAnswer>> ask_hives(
    const std::vector<std::string>& sockets, std::chrono::nanoseconds patience);

}  // namespace beeline::cli
