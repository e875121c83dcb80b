// Bells from peers of other users, which have no access to the agent's own eventfd: the bells wake
// it, a new coordinator hands out the same ones, and none is left at the end.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

#include "tests/process/coordinator_fixture.h"
#include "tests/process/other_uid_fixture.h"
#include "tests/support/at_rest.h"

namespace beeline::test {
namespace {

// Without a ring the victim finds a question at the end of its sleep, after 10 s. The questions of
// one guest would then take longer than the guest waits.
constexpr std::uint32_t kNights = 8;

// Asks the victim whenever the victim sleeps, and sleeps itself until the answer comes.
BEELINE_ROLE(guest) {
  auto& board = context.board<UidBoard>();
  become(kAttackerUser, {kGroup});
  AttachOptions options = without_start("guest");
  options.wait = WaitMode::kSleep;
  auto agent = Agent::attach(options);
  ASSERT_TRUE(agent) << agent.error().text;
  const Peer victim = peer_of(*agent, "victim");
  const Deadline end = patience();
  for (std::uint32_t i = 1; i <= kNights; ++i) {
    ASSERT_TRUE(board.question.await(i, end)) << "question " << i;
    const auto answer = agent->request(victim, std::to_string(i), end);
    ASSERT_TRUE(answer) << "question " << i << ": " << answer.error().text;
    EXPECT_EQ(answer->text(), std::to_string(i));
    board.answer.raise();
  }
}

class OtherUserWakeTest : public OtherUserTest {
 protected:
  void wake_victim_as_guest() {
    auto& there = board<UidBoard>();
    const std::size_t guest = troupe().start("guest");
    for (std::uint32_t i = 1; i <= kNights; ++i) {
      await_sleep();
      there.question.raise();
      ASSERT_TRUE(there.answer.await(i, patience())) << "question " << i;
    }
    troupe().wait(guest, patience());
  }
};

TEST_F(OtherUserWakeTest, APeerOfAnotherUserWakesASleeperAndIsWoken) {
  ASSERT_NO_FATAL_FAILURE(wake_victim_as_guest());
}

class VictimOnFdTest : public OtherUserWakeTest {
 protected:
  VictimOnFdTest() : OtherUserWakeTest() { victim_kind_ = kVictimOnFd; }
};

TEST_F(VictimOnFdTest, APeerOfAnotherUserWakesAnAgentThatTookItsFdBeforeThePeerCame) {
  ASSERT_NO_FATAL_FAILURE(wake_victim_as_guest());
}

// ---- The end of the eventfds --------------------------------------------------------------------

// The kernel's number: two descriptors of one eventfd have the same.
std::string event_id(const os::UniqueFd& fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd.get()));
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("eventfd-id:")) return line;
  }
  ADD_FAILURE() << "fd " << fd.get() << " is no eventfd";
  return {};
}

// Speaks to the coordinator by hand, before and after a restart of it.
BEELINE_ROLE(by_hand) {
  auto& board = context.board<UidBoard>();
  become(kAttackerUser, {kGroup});
  control::TestAgent self;
  control::AttachRequest request;
  request.name = "by-hand";
  request.temporary = true;
  ASSERT_TRUE(control::is_ok(self.attach(request)));
  ASSERT_TRUE(control::is_ok(self.provide(true)));
  const auto opened = self.open(board.victim_agent);
  ASSERT_TRUE(control::is_ok(opened));
  ASSERT_TRUE(opened->process && opened->foreign);
  EXPECT_NE(event_id(opened->event), event_id(opened->bell));
  const auto announced = self.next<control::AnnouncedLink>();
  ASSERT_TRUE(announced && announced->process && announced->foreign);
  EXPECT_EQ(event_id(announced->event), event_id(opened->event));
  EXPECT_EQ(event_id(announced->bell), event_id(opened->bell));
  board.answer.raise();

  ASSERT_TRUE(board.question.await(1, patience()));
  ASSERT_TRUE(control::is_ok(self.resume()));
  const auto again = self.open(board.victim_agent, true, 1);
  ASSERT_TRUE(control::is_ok(again));
  ASSERT_TRUE(again->process && again->foreign);
  EXPECT_EQ(event_id(again->event), event_id(opened->event)) << "it rings where nobody listens";
  EXPECT_EQ(event_id(again->bell), event_id(opened->bell)) << "it listens where nobody rings";
  board.answer.raise();
  ASSERT_TRUE(board.question.await(2, patience()));
}

// How many eventfds each process holds that outlives the agent.
struct Holdings {
  std::size_t keeper = 0;
  std::size_t coordinator = 0;
  std::size_t victim = 0;
  auto operator<=>(const Holdings&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Holdings& held) {
  return out << "keeper " << held.keeper << ", coordinator " << held.coordinator << ", victim "
             << held.victim;
}

class OtherUserBellsTest : public OtherUserTest {
 protected:
  [[nodiscard]] Holdings holdings() {
    const auto count = [](pid_t process) { return open_event_fds(std::to_string(process)).size(); };
    const auto& there = board<UidBoard>();
    return {count(there.keeper), count(there.coordinator), count(there.victim)};
  }
  // A count may miss a descriptor that moves meanwhile, so the test wants it several times in a
  // row.
  void await_holdings(const Holdings& expected, const std::string& when) {
    constexpr int kInARow = 3;
    const Deadline end = patience();
    Holdings now;
    for (int right = 0; right < kInARow && std::chrono::steady_clock::now() < end;) {
      ::usleep(1000);
      now = holdings();
      right = now == expected ? right + 1 : 0;
    }
    ASSERT_EQ(now, expected) << "eventfds " << when;
  }
};

TEST_F(OtherUserBellsTest, BellsOutliveTheCoordinatorAndEndWithTheLifeOfOneOfTheTwo) {
  auto& there = board<UidBoard>();
  const auto at_first = look_at_rest(
      {there.victim, there.coordinator, there.keeper}, patience(), [] { ::usleep(1000); },
      [this] { return holdings(); });
  ASSERT_TRUE(at_first) << "too busy to count what is held";
  const Holdings before = *at_first;
  const std::size_t by_hand = troupe().start("by_hand");
  ASSERT_TRUE(there.answer.await(1, patience()));
  // Its own eventfd and one bell each way; the victim holds only the bells.
  const Holdings during{before.keeper + 3, before.coordinator + 3, before.victim + 2};
  ASSERT_NO_FATAL_FAILURE(await_holdings(during, "of two agents of different users"));

  // The eventfd is handed out again before the victim has registered with the new coordinator.
  ASSERT_NO_FATAL_FAILURE(stop_victim());
  replace_coordinator();
  there.question.raise();
  ASSERT_TRUE(there.answer.await(2, patience()));
  ASSERT_EQ(::kill(there.victim, SIGCONT), 0);
  ASSERT_NO_FATAL_FAILURE(await_holdings(during, "after the coordinator was restarted"));

  there.question.raise();
  troupe().wait(by_hand, patience());
  ASSERT_NO_FATAL_FAILURE(await_holdings(before, "after one of the two has ended"));
}

}  // namespace
}  // namespace beeline::test
