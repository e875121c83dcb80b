// Receive by sender, oldest first, and by channel (LP-021 to LP-024).

#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct BySenderBoard {
  Event sent;
};

class FlowBySender : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowBySender);

constexpr std::int32_t kRanks[] = {kNormal, kCritical, kLow, kHigh, kCritical, kNormal};
constexpr const char* kChannels[] = {"red", "green", "blue"};
using Texts = std::vector<std::string>;
const Texts kInOrder = {"1", "2", "3", "4", "5", "6"};

BEELINE_ROLE(many_ranks) {
  auto& board = context.board<BySenderBoard>();
  auto agent = attach("sender-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  int number = 0;
  for (const std::int32_t rank : kRanks) {
    const SendOptions options{.rank = rank, .channel = kChannels[number % 3]};
    ASSERT_TRUE(agent->send(to, std::to_string(++number), options));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

Texts listed(Agent& agent, const Filter& filter) {
  Texts texts;
  for (const InboxItem& item : agent.inbox(1000, filter)) texts.push_back(item.preview);
  return texts;
}

TEST_P(FlowBySender, LP_021_To_023_OneSendersMailIsFifoAndLeavesTheOthers) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("many_ranks", 0);
  troupe().start("many_ranks", 1);
  const Pid first = peer_of(*agent, "sender-0").pid;
  const Pid second = peer_of(*agent, "sender-1").pid;
  ASSERT_TRUE(board<BySenderBoard>().sent.await(2, patience()));
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 2 * kInOrder.size()));

  const Filter of_first{.from = first, .oldest_first = true};
  EXPECT_EQ(listed(*agent, of_first), kInOrder) << "LP-021: a look takes nothing";
  EXPECT_EQ(listed(*agent, of_first), kInOrder) << "LP-021: a second look is the same";
  EXPECT_EQ(listed(*agent, {.from = first}), (Texts{"2", "5", "4", "1", "3", "6"}))
      << "without oldest_first the rank decides; low counts as normal between siblings";
  EXPECT_EQ(agent->inbox().size(), 2 * kInOrder.size());
  EXPECT_EQ(agent->inbox(4, of_first).size(), 4U);

  const Filter of_nobody{.from = first + second + 1000, .oldest_first = true};
  EXPECT_EQ(listed(*agent, of_nobody), Texts()) << "LP-021: unknown sender";
  EXPECT_FALSE(agent->try_receive(of_nobody)) << "LP-022: unknown sender";

  auto message = agent->try_receive(of_first);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text(), "1");
  message->requeue();
  EXPECT_EQ(take_texts(*agent, of_first), kInOrder) << "LP-022: FIFO, also what was put back";
  EXPECT_FALSE(agent->try_receive(of_first)) << "LP-022: empty";
  EXPECT_EQ(listed(*agent, of_first), Texts());

  const Filter of_second{.from = second, .oldest_first = true};
  EXPECT_EQ(listed(*agent, of_second), kInOrder) << "LP-023: the other sender's are not affected";
  EXPECT_EQ(take_texts(*agent, of_second), kInOrder);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowBySender, LP_024_ChannelsTravelAndFilter) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("many_ranks", 0);
  const Pid from = peer_of(*agent, "sender-0").pid;
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kInOrder.size()));
  for (const InboxItem& item : agent->inbox()) {
    EXPECT_EQ(item.channel, kChannels[(std::stoi(item.preview) - 1) % 3]);
  }
  const Filter green{.from = from, .channel = "green", .oldest_first = true};
  EXPECT_EQ(listed(*agent, green), (Texts{"2", "5"}));
  EXPECT_EQ(take_texts(*agent, green), (Texts{"2", "5"}));
  EXPECT_EQ(listed(*agent, {.channel = "red"}), (Texts{"4", "1"})) << "by rank: high, normal";
  EXPECT_EQ(take_texts(*agent, {}), (Texts{"4", "1", "3", "6"}));
  troupe().wait_all(patience());
}

TEST_P(FlowBySender, OldestFirstOfAllIsTheOrderOfArrival) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  const Texts in_order{"a", "b", "c"};
  const std::int32_t ranks[] = {kNormal, kHigh, kCritical};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    ASSERT_TRUE(agent->send("receiver", in_order[i], {.rank = ranks[i]}));
    // Each message is drained before the next is sent.
    ASSERT_NO_FATAL_FAILURE(await_queued(*agent, i + 1));
  }
  EXPECT_EQ(listed(*agent, {}), (Texts{"c", "b", "a"}));
  EXPECT_EQ(listed(*agent, {.oldest_first = true}), in_order);
  EXPECT_EQ(take_texts(*agent, {.oldest_first = true}), in_order);
}

TEST_P(FlowBySender, TheFilterOfAListAppliesToLeasedAndDeadOnesToo) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  for (const char* channel : {"red", "green", "red"}) {
    ASSERT_TRUE(agent->send("receiver", channel, {.channel = channel}));
  }
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 3));
  Message leased = next_message(*agent, {.channel = "green"});
  ASSERT_TRUE(leased.valid());
  Message dead = next_message(*agent, {.channel = "red"});
  ASSERT_TRUE(dead.valid());
  dead.reject();
  const auto green = agent->inbox(1000, {.channel = "green"});
  ASSERT_EQ(green.size(), 1U);
  EXPECT_TRUE(green.front().leased);
  const auto red = agent->inbox(1000, {.channel = "red"});
  ASSERT_EQ(red.size(), 2U);
  EXPECT_FALSE(red.front().dead);
  EXPECT_TRUE(red.back().dead);
  leased.done();
}

}  // namespace
}  // namespace beeline::test
