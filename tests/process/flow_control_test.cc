// Control messages: cancelling a message, and control messages that never wait behind data.

#include <unistd.h>

#include <string>
#include <vector>

#include "tests/support/call_counter.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct ControlBoard {
  Event attached;
  Event taken;
  Event go;
};

class FlowControl : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowControl);

// Handles one message until it is cancelled, then the others.
BEELINE_ROLE(worker) {
  auto& board = context.board<ControlBoard>();
  auto agent = attach("worker", "boss");
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message work = next_message(*agent);
  ASSERT_TRUE(work.valid());
  EXPECT_FALSE(work.cancelled());
  board.taken.raise();
  const Deadline deadline = patience();
  while (!work.cancelled() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(work.cancelled());
  work.reject("cancelled");
  ASSERT_TRUE(board.go.await(1, patience()));
  Message rest = next_message(*agent);
  ASSERT_TRUE(rest.valid());
  EXPECT_EQ(rest.text(), "the rest") << "what lay before it was taken back";
  EXPECT_FALSE(rest.cancelled());
  rest.done();
  EXPECT_FALSE(agent->try_receive()) << "an order to cancel is not handed out";
  std::vector<std::string> reasons;
  for (const InboxItem& item : agent->inbox()) reasons.push_back(item.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"rejected", "cancelled", "cancelled"}));
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

TEST_P(FlowControl, ACancelReachesTheHandlerAndWaitingMessages) {
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("worker");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer worker = peer_of(*agent, "worker");
  const SendResult work = agent->send(worker, "long work", {.requires_ack = true});
  ASSERT_TRUE(work);
  ASSERT_TRUE(shared.taken.await(1, patience()));
  const SendResult waiting = agent->send(worker, "waits");
  ASSERT_TRUE(waiting);
  ASSERT_TRUE(agent->cancel(worker, waiting.id));
  ASSERT_TRUE(agent->cancel(worker, work.id));
  const auto ack = agent->await_ack(worker, work.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->reply, "cancelled");
  // Nobody sees this one before its order: a request that gives up cancels itself.
  const auto none = agent->request(worker, "too late", after(1ms), {.cancel_on_timeout = true});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
  ASSERT_TRUE(agent->cancel(worker, 4711)) << "an order about nothing does nothing";
  ASSERT_TRUE(agent->send(worker, "the rest"));
  shared.go.raise();
  // The worker waits until the boss has read the end of both.
  ASSERT_NO_FATAL_FAILURE(await_drained(*agent, 2));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Cancels messages of other agents.
BEELINE_ROLE(meddler) {
  auto& board = context.board<ControlBoard>();
  auto agent = attach("meddler");
  ASSERT_TRUE(agent);
  const Peer boss = peer_of(*agent, "boss");
  ASSERT_TRUE(board.go.await(1, patience()));
  // The ids of a pid rise, so one of these is the id of the waiting message.
  for (MessageId id = 1; id < 10; ++id) {
    EXPECT_TRUE(agent->cancel(boss, static_cast<MessageId>(boss.pid) << 40 | id));
  }
  EXPECT_TRUE(agent->send_control(boss, kSteerOrder, "to the left"));
  EXPECT_EQ(agent->detach(), 10U) << "the boss looks later";
}

TEST_P(FlowControl, NobodyCancelsMessagesOfOthersOrSteersASuperior) {
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("meddler");
  ASSERT_TRUE(agent->send("boss", "mine"));
  shared.go.raise();
  troupe().wait_all(patience());
  ASSERT_NO_FATAL_FAILURE(await_drained(*agent, 11));
  Message mine = next_message(*agent);
  ASSERT_TRUE(mine.valid());
  EXPECT_EQ(mine.text(), "to the left") << "a critical rank, as anybody may ask for";
  EXPECT_FALSE(mine.is_control());
  mine.done();
  mine = next_message(*agent);
  EXPECT_EQ(mine.text(), "mine");
  EXPECT_FALSE(mine.cancelled());
  mine.done();
  expect_balance(*agent);
}

// Cancels orders: the one that it is just sending, and one that waits for its message.
BEELINE_ROLE(undecided) {
  auto& board = context.board<ControlBoard>();
  auto agent = attach("undecided");
  ASSERT_TRUE(agent);
  const Peer boss = peer_of(*agent, "boss");
  const SendResult first = agent->send(boss, "first");
  ASSERT_TRUE(first);
  ASSERT_TRUE(agent->cancel(boss, first.id + 1)) << "its own id";
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(agent->send(boss, "more"));
  const SendResult last = agent->send(boss, "last");
  ASSERT_TRUE(last);
  const SendResult order = agent->cancel(boss, last.id);
  ASSERT_TRUE(order);
  ASSERT_TRUE(agent->cancel(boss, order.id));
  board.go.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowControl, AnOrderToCancelCannotBeTakenBack) {
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("undecided");
  ASSERT_TRUE(shared.go.await(1, patience()));
  std::vector<std::string> texts;
  for (int i = 0; i < 61; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    texts.emplace_back(message.text());
    message.done();
  }
  EXPECT_EQ(texts.front(), "first");
  EXPECT_EQ(texts.back(), "more");
  troupe().wait_all(patience());
  EXPECT_FALSE(agent->try_receive()) << "the last one was taken back";
  const auto counters = agent->counters();
  EXPECT_EQ(counters.queued, 0U);
  EXPECT_EQ(counters.dead, 1U);
  EXPECT_EQ(counters.done, 61U + 3U) << "and the orders";
  expect_balance(*agent);
}

// Sends an answer that nobody waits for, and cancels it before it is seen.
BEELINE_ROLE(fickle) {
  auto& board = context.board<ControlBoard>();
  auto agent = attach("fickle");
  ASSERT_TRUE(agent);
  const Peer boss = peer_of(*agent, "boss");
  const SendResult answer =
      agent->send(boss, "an answer", {.rank = kCritical, .type = kTaskResponse, .reply_to = 4711});
  ASSERT_TRUE(answer);
  ASSERT_TRUE(agent->cancel(boss, answer.id));
  ASSERT_TRUE(agent->send(boss, "and more"));
  (void)agent->detach();
  board.go.raise();
}

TEST_P(FlowControl, AnAnswerThatNobodyHasFetchedCanBeTakenBack) {
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("fickle");
  ASSERT_TRUE(shared.go.await(1, patience()));
  Message more = next_message(*agent);
  ASSERT_TRUE(more.valid());
  EXPECT_EQ(more.text(), "and more");
  EXPECT_FALSE(agent->urgent());
  more.done();
  EXPECT_TRUE(agent->drain_pending_results().empty());
  const auto items = agent->inbox();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].reason, "cancelled");
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// ---- Is there something urgent ------------------------------------------------------------------

// Returns how many of 1,000 looks see something critical. None of them may make a system call. If
// the coordinator has just announced something, a look has to read it, so the test looks again,
// four times at most.
int glance(Agent& agent) {
  int seen = 0;
  std::optional<std::uint32_t> calls = 1;
  for (int i = 0; calls != 0U && i < 5; ++i) {
    seen = 0;
    (void)agent.urgent();
    calls = count_system_calls([&] {
      for (int look = 0; look < 1000; ++look) seen += agent.urgent() ? 1 : 0;
    });
  }
  EXPECT_EQ(calls, 0U);
  return seen;
}

// Looks, and takes messages between the looks.
BEELINE_ROLE(glancer) {
  auto& board = context.board<ControlBoard>();
  auto agent = attach("glancer", "boss");
  ASSERT_TRUE(agent);
  EXPECT_EQ(glance(*agent), 0);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 1));
  EXPECT_EQ(glance(*agent), 0) << "what waits is not critical";
  board.taken.raise();
  ASSERT_TRUE(board.go.await(2, patience()));
  EXPECT_EQ(glance(*agent), 1000) << "it lies in the lane";
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 2));
  EXPECT_EQ(glance(*agent), 1000) << "it lies in the inbox";
  EXPECT_EQ(take_texts(*agent), (std::vector<std::string>{"now", "some time"}));
  EXPECT_EQ(glance(*agent), 0);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowControl, WhetherSomethingCriticalWaitsTakesNoSystemCall) {
  const auto one = count_system_calls([] { (void)::getppid(); });
  if (!one) GTEST_SKIP() << "a seccomp filter is refused here";
  EXPECT_EQ(one, 1U) << "else the rest says nothing";
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("glancer");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer to = peer_of(*agent, "glancer");
  ASSERT_TRUE(agent->send(to, "some time"));
  shared.go.raise();
  ASSERT_TRUE(shared.taken.await(1, patience()));
  ASSERT_TRUE(agent->send(to, "now", {.rank = kCritical}));
  shared.go.raise();
  troupe().wait_all(patience());
}

// ---- Before all data ----------------------------------------------------------------------------

constexpr std::uint32_t kTable = 1024;

// number = Order. Its table is full of critical messages before it takes the first one.
BEELINE_ROLE(flooded) {
  auto& board = context.board<ControlBoard>();
  AttachOptions options = named("flooded", "boss");
  options.order = static_cast<Order>(context.number);
  options.inbox_capacity = kTable;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  // All places but those that are kept for control messages.
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kTable - kTable / 64));
  board.taken.raise();
  ASSERT_TRUE(board.go.await(context.number + 1, patience()));
  EXPECT_TRUE(agent->urgent());
  std::vector<std::string> texts;
  while (texts.empty() || texts.back() != "last") {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.is_control(), message.type() == kSteerOrder);
    texts.emplace_back(message.text());
    message.done();
  }
  ASSERT_GT(texts.size(), kTable - kTable / 64);
  EXPECT_EQ(texts[0], "left");
  EXPECT_EQ(texts[1], "right");
  expect_balance(*agent);
}

TEST_P(FlowControl, AControlMessageWaitsBehindNothing) {
  auto& shared = board<ControlBoard>();
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  for (const Order order : {Order::kAged, Order::kStrict, Order::kFifo}) {
    const auto number = static_cast<std::uint32_t>(order);
    const std::size_t flooded = troupe().start("flooded", number);
    ASSERT_TRUE(shared.attached.await(number + 1, patience()));
    const Peer to = peer_of(*agent, "flooded");
    while (shared.taken.count() <= number) {
      (void)agent->send_until(to, "data", after(1ms), {.rank = kCritical});
    }
    while (agent->send(to, "data", {.rank = kCritical})) {
    }
    ASSERT_TRUE(agent->send_control(to, kSteerOrder, "left")) << "it has room of its own";
    ASSERT_TRUE(agent->send_control(to, kSteerOrder, "right"));
    shared.go.raise();
    ASSERT_TRUE(agent->send_until(to, "last", patience(), {.rank = kLow}));
    troupe().wait(flooded, patience());
  }
}

// ---- Many links ---------------------------------------------------------------------------------

constexpr std::uint32_t kManySenders = 60;  // more senders than one turn looks at
constexpr std::uint32_t kManyRounds = 12;

// Many senders, each of which sends a message in each round.
BEELINE_ROLE(crowd_of_senders) {
  auto& board = context.board<ControlBoard>();
  std::vector<Agent> crowd;
  for (std::uint32_t i = 0; i < kManySenders; ++i) {
    auto agent = attach("sender-" + std::to_string(i));
    ASSERT_TRUE(agent);
    crowd.push_back(std::move(*agent));
  }
  for (std::uint32_t round = 1; round <= kManyRounds; ++round) {
    ASSERT_TRUE(board.go.await(round, patience()));
    for (Agent& agent : crowd) ASSERT_TRUE(agent.send("busy", "data", {.rank = kHigh}));
    board.taken.raise();
  }
  for (Agent& agent : crowd) EXPECT_EQ(agent.detach(patience()), 0U);
}

TEST_P(FlowControl, AControlMessageOfAQuietSenderWaitsForNoTurnOfOthers) {
  auto& shared = board<ControlBoard>();
  auto boss = attach("boss");
  auto agent = attach("busy", "boss");
  ASSERT_TRUE(boss && agent);
  const Peer busy = peer_of(*boss, "busy");
  ASSERT_TRUE(boss->send(busy, "hello"));
  next_message(*agent).done();
  troupe().start("crowd_of_senders");
  for (std::uint32_t round = 1; round <= kManyRounds; ++round) {
    shared.go.raise();
    ASSERT_TRUE(shared.taken.await(round, patience()));
    // All senders were active later than the boss; the place of the boss's link in the next turn is
    // chance.
    ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kManySenders));
    ASSERT_TRUE(boss->send_control(busy, kShutdownOrder));
    Message first = next_message(*agent);
    ASSERT_TRUE(first.valid());
    EXPECT_EQ(first.type(), kShutdownOrder) << "in round " << round;
    first.done();
    while (auto message = agent->try_receive()) message->done();
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
