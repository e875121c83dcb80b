// Work that the death of the coordinator interrupts can be repeated.

#include <signal.h>

#include "src/control/client.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class InterruptedTest : public HiveTest {
 protected:
  void SetUp() override { start(World::kProcesses, 120s, 1); }
};

control::AttachRequest request_for(const std::string& name) {
  control::AttachRequest request;
  request.name = name;
  return request;
}

TEST_F(InterruptedTest, AProcessAttachesAgainAfterTheCoordinatorDiedInTheMiddle) {
  auto client = hive().client();
  ASSERT_TRUE(client.attach(request_for("half")));
  ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
  const auto broken = client.ready();
  ASSERT_FALSE(broken);
  client.close();
  EXPECT_TRUE(attach_again(named("half")));
}

TEST_F(InterruptedTest, AProcessAttachesAgainAfterItBrokeOffAnAttach) {
  {
    auto client = hive().client();
    ASSERT_TRUE(client.attach(request_for("half")));
  }
  EXPECT_TRUE(attach_again(named("half")));
}

// The short life took all and left before the sender was registered with the new coordinator.
TEST_F(InterruptedTest, ASenderThatComesBackLateGetsTheReceiptsOfAShortLife) {
  auto sender = attach("sender");
  auto taker = attach("taker");
  ASSERT_TRUE(sender && taker);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender->send("taker", "message"));
  taker.reset();
  ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
  taker = attach_again(named("taker"));
  ASSERT_TRUE(taker);
  drain_what_fits(*taker);
  EXPECT_EQ(take_texts(*taker).size(), 3U);
  taker.reset();
  EXPECT_EQ(sender->detach(after(10s)), 0U) << "messages that were taken count as not taken";
}

// Several lives leave receipts for a sender that is away: one link is kept, in whatever coordinator
// each of them left.
TEST_F(InterruptedTest, ReceiptsOfShortLivesAreKeptOnceAcrossCoordinators) {
  auto sender = attach("sender");
  auto taker = attach("taker");
  ASSERT_TRUE(sender && taker);
  ASSERT_TRUE(sender->send("taker", "message"));
  for (int life = 0; life < 3; ++life) {
    taker.reset();
    ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
    taker = attach_again(named("taker"));
    ASSERT_TRUE(taker);
    drain_what_fits(*taker);
  }
  taker.reset();
  EXPECT_EQ(hive().client().links_to(sender->pid())->size(), 1U);
  EXPECT_EQ(sender->detach(after(10s)), 0U);
}

TEST_F(InterruptedTest, ANameStaysWithTheAgentThatHasIt) {
  auto agent = attach("taken");
  ASSERT_TRUE(agent);
  const auto second = Agent::attach(named("taken"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyRunning);
}

}  // namespace
}  // namespace beeline::test
