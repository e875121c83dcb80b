#pragma once

#include <chrono>
#include <string>

namespace beeline::cli {

// Waits for the end of all processes of this program that were started with `directory` as
// $BEELINE_DIR. After `patience` it kills the others. False if one is still left.
[[nodiscard]] bool outlive_programs(const std::string& directory, std::chrono::seconds patience);

}  // namespace beeline::cli
