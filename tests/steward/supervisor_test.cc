#include "src/steward/supervisor.h"

#include <gtest/gtest.h>

#include "src/steward/alarms.h"

namespace beeline::steward {
namespace {

ChildExit exited(int code) { return {1, code, 0, true, "exited", {}}; }

TEST(StewardSupervisor, ThePolicyDecides) {
  const ChildExit killed{1, -1, 9, true, "signalled", {}};
  const auto restarts = [](Restart policy, const ChildExit& end) {
    return judge(policy, end, {}, 1'000 * kRestartMemoryNs).kind == Verdict::Kind::kRestart;
  };
  // HK-112: an exit with 0 is restarted too.
  EXPECT_TRUE(restarts(Restart::kAlways, exited(0)));
  EXPECT_TRUE(restarts(Restart::kAlways, killed));
  EXPECT_FALSE(restarts(Restart::kOnFailure, exited(0)));
  EXPECT_TRUE(restarts(Restart::kOnFailure, exited(1)));
  EXPECT_TRUE(restarts(Restart::kOnFailure, killed));
  for (const Restart policy : {Restart::kNotify, Restart::kNever}) {
    EXPECT_FALSE(restarts(policy, exited(1)));
    EXPECT_FALSE(restarts(policy, killed));
  }
}

// HK-112: 3 attempts, 5 s x the number of the attempt, forgotten after 5 minutes.
TEST(StewardSupervisor, PausesGrowUntilTheChildIsGivenUp) {
  const std::int64_t start = 1'000 * kRestartMemoryNs;
  RestartCount count;
  for (std::uint32_t attempt = 1; attempt <= kMostRestarts; ++attempt) {
    const Verdict verdict = judge(Restart::kAlways, exited(1), count, start);
    EXPECT_EQ(verdict.kind, Verdict::Kind::kRestart);
    EXPECT_EQ(verdict.attempts, attempt);
    EXPECT_EQ(verdict.pause_ns, attempt * kRestartPauseNs);
    count = {attempt, start};
  }
  const Verdict last = judge(Restart::kAlways, exited(1), count, start + kRestartMemoryNs);
  EXPECT_EQ(last.kind, Verdict::Kind::kCrashLoop);
  EXPECT_EQ(last.attempts, kMostRestarts);
  const Verdict later = judge(Restart::kAlways, exited(1), count, start + kRestartMemoryNs + 1);
  EXPECT_EQ(later.kind, Verdict::Kind::kRestart);
  EXPECT_EQ(later.attempts, 1U);
}

TEST(StewardAlarms, TheOldestComesFirstAndOnce) {
  Alarms alarms;
  EXPECT_EQ(alarms.next(), 0);
  alarms.set(Duty::kKill, 1, 30);
  alarms.set(Duty::kTerm, 1, 10);
  alarms.set(Duty::kKill, 1, 20);
  alarms.set(Duty::kWait, 5, 40);
  alarms.clear(Duty::kWait, 5);
  EXPECT_EQ(alarms.next(), 10);
  const std::vector<Alarms::Key> due{{Duty::kTerm, 1}, {Duty::kKill, 1}};
  EXPECT_EQ(alarms.take_due(50), due);
  EXPECT_EQ(alarms.next(), 0);
}

}  // namespace
}  // namespace beeline::steward
