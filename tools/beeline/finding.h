#pragma once

#include <cstdint>
#include <string>

namespace beeline::cli {

/// One line of `beeline doctor`.
struct Finding {
  enum class Level : std::uint8_t {
    kOk,
    kWarning,  ///< a hive starts, and something of it suffers
    kFailed,   ///< no hive starts, or none can be used
  };
  std::string check;
  Level level = Level::kOk;
  std::string text;  ///< the fact, and what to do unless it is good
};

}  // namespace beeline::cli
