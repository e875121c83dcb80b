#pragma once

#include <chrono>
#include <string>

namespace beeline::cli {

/// Waits until no process of this program is left whose $BEELINE_DIR was `directory` when it
/// started; one that is still there after `patience` is killed. False if one cannot be.
[[nodiscard]] bool outlive_programs(const std::string& directory, std::chrono::seconds patience);

}  // namespace beeline::cli
