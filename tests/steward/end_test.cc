// Ends: kill, wait, the end of the hive.

#include <nlohmann/json.hpp>

#include "tests/steward/steward_fixture.h"

namespace beeline::steward::test {
namespace {

using End = StewardTest;
using Json = nlohmann::json;

TEST_F(End, AWaitReturnsTheStatusAndTheLastOutput) {
  SpawnOptions options = child("short");
  options.command = {"sh", "-c", "echo hello; exec " + options.command.front() + " end 42"};
  const Pid pid = spawn(options);
  const ChildExit end = wait(pid);
  EXPECT_EQ(end.exit_code, 42);
  EXPECT_EQ(end.signal, 0);
  EXPECT_TRUE(end.known);
  EXPECT_EQ(end.reason, "exited");
  EXPECT_EQ(end.output, "hello");
  EXPECT_EQ(wait(pid).exit_code, 42) << "its status can be asked for again";
  const auto told = Json::parse(next_text("child_exited"));
  EXPECT_EQ(told["pid"], pid);
  EXPECT_EQ(told["exit_code"], 42);
}

TEST_F(End, AWaitEndsAtItsTimeout) {
  const Pid pid = spawn(child("long"));
  const auto end = processes().wait(pid, 10ms);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(end.error().text, "timeout waiting for child");
  EXPECT_EQ(processes().wait("nobody", 10ms).error().code, ErrorCode::kNoAgent);
}

// HK-106, HK-110: descendants first, the target last.
TEST_F(End, AKillEndsTheLowestFirst) {
  const Pid a = spawn(child("a"));
  const auto b = static_cast<Pid>(std::stoul(ask("a", "spawn b serve")));
  const auto c = static_cast<Pid>(std::stoul(ask("b", "spawn c serve")));
  const auto alone = processes().kill(a, /*recursive=*/false);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().text.find("has 1 living children"), std::string::npos);
  const auto killed = processes().kill(a);
  ASSERT_TRUE(killed) << killed.error().text;
  EXPECT_EQ(*killed, (std::vector<Pid>{c, b, a}));
  const std::vector<std::string> tail{"c end", "b end", "a end"};
  const auto lines = ledger();
  EXPECT_EQ(std::vector(lines.end() - 3, lines.end()), tail);
  EXPECT_EQ(wait(a).reason, "killed");
  EXPECT_EQ(boss().info(a)->state, State::kZombie);
  const auto again = processes().kill(a);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST_F(End, AStubbornChildIsKilledAfterItsGrace) {
  SpawnOptions options = child("stubborn", {"stubborn"});
  options.grace = 50ms;
  const Pid pid = spawn(options);
  ASSERT_TRUE(processes().kill(pid));
  EXPECT_EQ(wait(pid).signal, 9);
}

TEST_F(End, AWrapperEndsWithItsProgram) {
  SpawnOptions options = child("wrapped");
  options.command = {"sh", "-c", options.command.front() + " stubborn; true"};
  options.grace = 50ms;
  ASSERT_TRUE(processes().kill(spawn(options)));
  take_down();  // fails if a process is left
}

TEST_F(End, AnAgentEndsNoStrangers) {
  spawn(child("a"));
  spawn(child("b"));
  EXPECT_EQ(processes().kill("boss").error().code, ErrorCode::kDenied);
  EXPECT_EQ(processes().kill("nobody").error().text, "kill: process not found: \"nobody\"");
  AttachOptions other;
  other.name = "other";
  other.role = "lead";
  auto stranger = Agent::attach(other);
  ASSERT_TRUE(stranger);
  EXPECT_NE(stranger->processes().kill("a").error().text.find("can only kill own children"),
            std::string::npos);
  EXPECT_NE(stranger->processes().wait("a", 1ms).error().text.find("can only wait for own"),
            std::string::npos);
}

TEST_F(End, TheEndOfTheHiveEndsTheLowestFirst) {
  spawn(child("a"));
  (void)ask("a", "spawn b serve");
  take_down();
  const std::vector<std::string> tail{"b end", "a end"};
  const auto lines = ledger();
  EXPECT_EQ(std::vector(lines.end() - 2, lines.end()), tail);
}

}  // namespace
}  // namespace beeline::steward::test
