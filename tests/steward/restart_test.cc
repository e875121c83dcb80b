// Restarts: by policy, with the same agent; the steward's own restart.

#include <signal.h>

#include <nlohmann/json.hpp>

#include "src/control/client.h"
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

// Pid 1 of the next hive has the same number. It does not get again what the last one has done, and
// it does not wait for a message that the lane has lost.
TEST_F(StewardRestart, AnAgentThatOutlivesItsHiveSpawnsInTheNextOne) {
  auto idle = Agent::attach({.name = "idle", .role = "lead"});
  ASSERT_TRUE(idle) << idle.error().text;
  std::optional<Agent> other;
  for (const bool is_answered : {true, false}) {
    const auto one = processes().spawn(child("one"));
    ASSERT_TRUE(one) << one.error().text;
    constexpr int kMoreThanALane = 300;
    for (int i = 0; i < (is_answered ? 0 : kMoreThanALane); ++i) ASSERT_TRUE(processes().list());
    const pid_t king = steward();
    if (!is_answered) ::kill(king, SIGSTOP);
    std::optional<ErrorCode> ended;
    const auto asked = boss().request_then(To(Pid{1}), R"({"child": "one", "timeout_ms": 60000})",
                                           after(kPatience),
                                           [&ended](const Result<Message>& end) {
                                             ended = end ? ErrorCode::kNotice : end.error().code;
                                           },
                                           {.type = "hive.wait"});
    ASSERT_TRUE(asked);
    control::ClientOptions options;
    options.start = false;
    const auto keeper = control::Client::connect(options)->status()->keeper_pid;
    ASSERT_EQ(::kill(static_cast<pid_t>(keeper), SIGKILL), 0);
    if (!is_answered) {
      ::kill(king, SIGKILL);
      ::kill(one->os_pid, SIGKILL);
    }
    expect_all_end(directory());
    other.emplace(*Agent::attach({.name = is_answered ? "second" : "third"}));
    // It finds out about the new hive within this call.
    auto of_idle = idle->processes().list();
    if (!is_answered) {
      ASSERT_FALSE(of_idle) << "its link leads to the last pid 1";
      EXPECT_EQ(of_idle.error().code, ErrorCode::kPeerDead);
      of_idle = idle->processes().list();
    }
    ASSERT_TRUE(of_idle) << of_idle.error().text;
    ASSERT_TRUE(boss().info());
    while (!ended) ASSERT_TRUE(boss().run_answers());
    EXPECT_TRUE(is_answered || *ended == ErrorCode::kPeerDead) << to_string(*ended);
    const auto children = processes().list();
    ASSERT_TRUE(children) << children.error().text;
    EXPECT_TRUE(children->empty());
  }
  spawn(child("one"));
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
