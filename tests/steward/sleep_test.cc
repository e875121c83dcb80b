// Signals, sleep and wake.

#include <signal.h>

#include <algorithm>

#include "tests/steward/steward_fixture.h"

namespace beeline::steward::test {
namespace {

class Sleep : public StewardTest {
 protected:
  // A child whose end is final.
  Pid spawn_once(const std::string& name, const std::vector<std::string>& arguments = {"serve"}) {
    SpawnOptions options = child(name, arguments);
    options.restart = "never";
    return spawn(options);
  }
  // The state, or the words of the error.
  static std::string state_in(const Result<std::string>& answer) {
    return answer ? *answer : answer.error().text;
  }
  std::string signal(const To& child, Signal signal) {
    return state_in(processes().signal(child, signal));
  }
  std::string sleep(const To& child) { return state_in(processes().sleep(child)); }
  std::string wake(const To& child) { return state_in(processes().wake(child)); }
  std::string state_of(const std::string& name) { return listed(name)->state; }
  // Waits until pid 1 lists the child in this state.
  void await_state(const std::string& name, const std::string& state) {
    const Deadline end = after(kPatience);
    while (state_of(name) != state) ASSERT_LT(std::chrono::steady_clock::now(), end) << state;
  }
};

// HK-109
TEST_F(Sleep, EachSignalReachesTheProcessAndSaysTheStateAfterwards) {
  const Pid pid = spawn_once("c", {"count"});
  for (const Signal each :
       {Signal::kHangUp, Signal::kInterrupt, Signal::kUser1, Signal::kUser2, Signal::kContinue}) {
    EXPECT_EQ(signal("c", each), "running");
  }
  EXPECT_EQ(ask("c", "signals"), "1111");
  EXPECT_EQ(signal(pid, Signal::kStop), "sleeping");
  EXPECT_EQ(signal(pid, Signal::kUser1), "sleeping") << "it waits for the wake";
  EXPECT_EQ(signal(pid, Signal::kContinue), "running");
  EXPECT_EQ(ask("c", "signals"), "1121");
  EXPECT_EQ(signal("c", Signal::kTerminate), "running") << "it may take its time";
  EXPECT_EQ(wait(pid).signal, SIGTERM);
}

// HK-109, C-33
TEST_F(Sleep, NoSignalRevivesTheDead) {
  const Pid pid = spawn_once("k");
  EXPECT_EQ(ask("k", "hello"), "hello") << "it has begun";
  EXPECT_EQ(sleep(pid), "sleeping");
  EXPECT_EQ(signal(pid, Signal::kKill), "ended");
  EXPECT_EQ(wait(pid).signal, SIGKILL);
  for (const auto& answer : {processes().signal(pid, Signal::kContinue), processes().sleep(pid),
                             processes().wake("k"), processes().signal(pid, Signal::kKill)}) {
    ASSERT_FALSE(answer) << *answer;
    EXPECT_EQ(answer.error().code, ErrorCode::kPeerDead);
    EXPECT_NE(answer.error().text.find(" PID " + std::to_string(pid) +
                                       ": \"k\" is dead, its state is ended"),
              std::string::npos)
        << answer.error().text;
  }
  EXPECT_EQ(state_of("k"), "ended");
  EXPECT_EQ(boss().info(pid)->state, State::kZombie);
  const auto lines = ledger();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "k begin"), 1);
}

TEST_F(Sleep, AKilledDaemonIsRestarting) {
  SpawnOptions options = child("d");
  options.restart = "always";
  spawn(options);
  EXPECT_EQ(signal("d", Signal::kKill), "restarting");
  EXPECT_NE(wake("d").find("its state is restarting"), std::string::npos);
}

// HK-114
TEST_F(Sleep, ASleepingChildAnswersAfterItsWake) {
  const Pid pid = spawn_once("s");
  EXPECT_EQ(sleep("s"), "sleeping");
  EXPECT_EQ(sleep(pid), "sleeping");
  EXPECT_EQ(state_of("s"), "sleeping");
  const auto early = boss().request("s", "early", after(100ms));
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(wake(pid), "running");
  EXPECT_EQ(ask("s", "hello"), "hello");
  const auto again = processes().wake("s");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(again.error().text, "wake of PID " + std::to_string(pid) +
                                    ": \"s\" is running, and only a sleeping child can be woken");
}

TEST_F(Sleep, AgentsBelowASleepingOneRunOn) {
  spawn_once("a");
  (void)ask("a", "spawn b serve");
  EXPECT_EQ(sleep("a"), "sleeping");
  EXPECT_EQ(ask("b", "hello"), "hello");
  EXPECT_EQ(sleep("b"), "sleeping") << "a descendant";
}

// A stopped process takes neither a message nor SIGTERM.
TEST_F(Sleep, ASleepingChildEndsInGoodOrder) {
  const Pid s = spawn_once("s");
  EXPECT_EQ(sleep("s"), "sleeping");
  ASSERT_TRUE(processes().kill("s"));
  const ChildExit end = wait(s);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(ledger().back(), "s end");
  spawn_once("t");
  EXPECT_EQ(sleep("t"), "sleeping");
  take_down();
  EXPECT_EQ(ledger().back(), "t end");
}

TEST_F(Sleep, AStubbornSleeperIsKilled) {
  SpawnOptions options = child("stubborn", {"stubborn"});
  options.grace = 50ms;
  const Pid pid = spawn(options);
  EXPECT_EQ(sleep(pid), "sleeping");
  ASSERT_TRUE(processes().kill(pid));
  EXPECT_EQ(wait(pid).signal, SIGKILL);
}

TEST_F(Sleep, TheNextStewardKnowsWhoSleeps) {
  spawn_once("s");
  EXPECT_EQ(sleep("s"), "sleeping");
  ASSERT_EQ(::kill(steward(), SIGKILL), 0);
  await_state("s", "sleeping");
  EXPECT_EQ(wake("s"), "running");
  EXPECT_EQ(ask("s", "hello"), "hello");
}

TEST_F(Sleep, SignalsOfOthersCount) {
  spawn_once("s");
  const pid_t process = listed("s")->os_pid;
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  await_state("s", "sleeping");
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_EQ(state_of("s"), "running");
}

TEST_F(Sleep, OnlyDescendantsThatPidOneHasStartedCanBeStopped) {
  spawn_once("s");
  AttachOptions options;
  options.name = "other";
  options.parent = "boss";
  auto other = Agent::attach(options);
  ASSERT_TRUE(other) << other.error().text;
  for (const auto& answer : {other->processes().sleep("s"), processes().sleep("boss")}) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kDenied);
    EXPECT_NE(answer.error().text.find("can only signal own children"), std::string::npos);
  }
  EXPECT_NE(sleep("other").find("pid 1 has not started this process"), std::string::npos);
  EXPECT_EQ(sleep("nobody"), "signal: process not found: \"nobody\"");
  EXPECT_EQ(processes().sleep(Pid{0}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(state_of("s"), "running");
}

}  // namespace
}  // namespace beeline::steward::test
