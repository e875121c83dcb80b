// The first message of an unknown sender is there at the receiver's next call, because the
// coordinator tells the receiver of a link before the sender may write into it.

#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct NewcomerBoard {
  Event sent;
  Event leave;
};

class FlowNewcomer : public HiveTest {
 protected:
  // Starts a sender and returns as soon as its only message was accepted.
  void await_newcomer(std::uint32_t how) {
    auto& shared = board<NewcomerBoard>();
    ++newcomers_;
    troupe().start("newcomer", how);
    ASSERT_TRUE(shared.sent.await(newcomers_, patience()));
  }
  void dismiss() {
    board<NewcomerBoard>().leave.raise();
    troupe().wait_all(patience());
  }
  std::uint32_t newcomers_ = 0;
};
BEELINE_BOTH_WORLDS(FlowNewcomer);

enum How : std::uint32_t { kPlain = 0, kUrgent = 1, kResult = 2 };

BEELINE_ROLE(newcomer) {
  auto& board = context.board<NewcomerBoard>();
  AttachOptions options;
  options.temporary = true;
  options.parent = "receiver";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  SendOptions how;
  how.rank = context.number == kUrgent ? kCritical : kHigh;
  if (context.number == kResult) {
    how.type = kTaskResponse;
    how.reply_to = 4711;
  }
  ASSERT_TRUE(agent->send("receiver", "hello", how));
  board.sent.raise();
  ASSERT_TRUE(board.leave.await(1, patience()));
}

TEST_P(FlowNewcomer, TheInboxShowsItsMessage) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_NO_FATAL_FAILURE(await_newcomer(kPlain));
    EXPECT_EQ(agent->inbox().size(), i);
  }
  dismiss();
  EXPECT_EQ(take_texts(*agent).size(), 3U);
}

TEST_P(FlowNewcomer, AHandlerThatAsksWhetherSomethingIsUrgentIsToldSo) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  EXPECT_FALSE(agent->urgent());
  ASSERT_NO_FATAL_FAILURE(await_newcomer(kPlain));
  EXPECT_FALSE(agent->urgent());
  ASSERT_NO_FATAL_FAILURE(await_newcomer(kUrgent));
  EXPECT_TRUE(agent->urgent());
  EXPECT_EQ(next_message(*agent).rank(), kCritical) << "put back, and taken again below";
  dismiss();
  EXPECT_EQ(take_texts(*agent).size(), 2U);
}

TEST_P(FlowNewcomer, AResultIsAmongThosePending) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_newcomer(kResult));
  auto results = agent->drain_pending_results();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.front().text(), "hello");
  results.front().done();
  dismiss();
}

// The receiver looks all the time, so no clock has ticked since its last look.
TEST_P(FlowNewcomer, TheCallAfterItsSendReturnsTheMessageWhateverTheFilter) {
  auto& shared = board<NewcomerBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  const std::vector<Filter> filters{{}, {.reply_to = 0, .oldest_first = true}};
  for (const Filter& filter : filters) {
    troupe().start("newcomer", kPlain);
    ++newcomers_;
    while (shared.sent.count() < newcomers_) {
      ASSERT_FALSE(agent->try_receive(kNobody));
    }
    auto message = agent->try_receive(filter);
    ASSERT_TRUE(message);
    message->done();
  }
  dismiss();
}

TEST_P(FlowNewcomer, AnUrgentMessageComesBeforeTheMessagesInTheInbox) {
  auto& shared = board<NewcomerBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("newcomer", kPlain);
  troupe().start("newcomer", kPlain);
  ASSERT_TRUE(shared.sent.await(2, patience()));
  ASSERT_EQ(agent->inbox().size(), 2U);
  troupe().start("newcomer", kUrgent);
  while (shared.sent.count() < 3) {
    ASSERT_FALSE(agent->try_receive(kNobody));
  }
  EXPECT_EQ(next_message(*agent).rank(), kCritical);
  dismiss();
  EXPECT_EQ(take_texts(*agent).size(), 3U);
}

}  // namespace
}  // namespace beeline::test
