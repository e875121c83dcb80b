#pragma once

// Decides after the end of a child if it is started again, and when.

#include <cstdint>

#include <beeline/processes.h>

#include "src/steward/restart.h"

namespace beeline::steward {

inline constexpr std::uint32_t kMostRestarts = 3;
// Before the first restart; before the second twice this, and so on.
inline constexpr std::int64_t kRestartPauseNs = 5'000'000'000;
inline constexpr std::int64_t kLongestPauseNs = 60'000'000'000;
// A child that ran so long since its last restart begins to count anew.
inline constexpr std::int64_t kRestartMemoryNs = 300'000'000'000;

struct RestartCount {
  std::uint32_t attempts = 0;
  std::int64_t last_unix_ns = 0;  // 0: there was none
};

struct Verdict {
  enum class Kind : std::uint8_t {
    kStay,       // the child stays ended
    kRestart,    // it is started again after `pause_ns`
    kCrashLoop,  // it was restarted too often, and stays ended
  };
  Kind kind = Kind::kStay;
  std::int64_t pause_ns = 0;
  std::uint32_t attempts = 0;  // this restart included
};

[[nodiscard]] Verdict judge(Restart policy, const ChildExit& end, const RestartCount& count,
                            std::int64_t now_unix_ns);

}  // namespace beeline::steward
