#include "src/steward/supervisor.h"

#include <algorithm>

namespace beeline::steward {

Verdict judge(Restart policy, const ChildExit& end, const RestartCount& count,
              std::int64_t now_unix_ns) {
  const bool failed = end.exit_code != 0;
  const bool wants_life = policy == Restart::kAlways || (policy == Restart::kOnFailure && failed);
  if (!wants_life) return {};
  const bool is_old = now_unix_ns - count.last_unix_ns > kRestartMemoryNs;
  const std::uint32_t attempts = (is_old ? 0 : count.attempts) + 1;
  if (attempts > kMostRestarts) return {Verdict::Kind::kCrashLoop, 0, attempts - 1};
  return {Verdict::Kind::kRestart, std::min(kRestartPauseNs * attempts, kLongestPauseNs), attempts};
}

}  // namespace beeline::steward
