// Restarts: by policy, with the same agent; the steward's own restart.

#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/steward/steward_fixture.h"

namespace beeline::steward::test {
namespace {

using StewardRestart = StewardTest;
using Json = nlohmann::json;

// HK-112: the same pid; messages wait for the next life.
TEST_F(StewardRestart, AChildThatFailsComesBackAsTheSameAgent) {
  SpawnOptions options = child("service");
  options.restart = "on-failure";
  const Pid pid = spawn(options);
  ASSERT_TRUE(boss().send("service", "exit 3"));
  EXPECT_EQ(ask("service", "hello"), "hello");
  const auto info = boss().info(pid);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "service");
  const auto now = listed("service");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->restarts, 1U);
  EXPECT_EQ(now->end->exit_code, 3);
  EXPECT_EQ(now->state, "running");
}

TEST_F(StewardRestart, AChildWaitsForItsRestartAndCanBeKilledThen) {
  SpawnOptions options = child("service", {"end", "3"});
  options.restart = "always";
  const Pid pid = spawn(options);
  while (listed("service")->state != "restarting") {
  }
  ASSERT_TRUE(processes().kill(pid));
  EXPECT_EQ(wait(pid).reason, "killed");
  EXPECT_EQ(listed("service")->state, "ended");
}

TEST_F(StewardRestart, AStewardThatIsKilledLosesNoChild) {
  const Pid lives = spawn(child("lives"));
  const Pid ends = spawn(child("ends"));
  const pid_t before = steward();
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  ASSERT_TRUE(boss().send("ends", "exit 7"));
  EXPECT_EQ(wait(ends).exit_code, 7);
  EXPECT_EQ(ask("lives", "hello"), "hello");
  EXPECT_EQ(listed("lives")->pid, lives);
  const auto killed = processes().kill(lives);
  ASSERT_TRUE(killed) << killed.error().text;
  EXPECT_EQ(*killed, std::vector{lives});
  EXPECT_NE(steward(), before);
}

}  // namespace
}  // namespace beeline::steward::test
