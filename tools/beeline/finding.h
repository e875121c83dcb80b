#pragma once

#include <cstdint>
#include <string>

namespace beeline::cli {

// One line of `beeline doctor`.
struct Finding {
  enum class Level : std::uint8_t {
    kOk,
    kWarning,  // a hive starts, but something will work badly
    kFailed,   // no hive starts, or no agent can use one
  };
  std::string check;
  Level level = Level::kOk;
  std::string text;  // the fact, and the next step unless it is good
};

}  // namespace beeline::cli
