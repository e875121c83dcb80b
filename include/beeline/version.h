#pragma once

// The version stands here alone: the build reads it from this file.

#include <string_view>

#define BEELINE_VERSION_MAJOR 0
#define BEELINE_VERSION_MINOR 1
#define BEELINE_VERSION_PATCH 0

namespace beeline {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace beeline
