// Requests, selective receive, and the ways in which a message ends.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct InboxBoard {
  Event attached;
  Event go;
  Event sent;
};

class FlowInbox : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowInbox);

// ---- Requests -----------------------------------------------------------------------------------

// Answers the first request late: after the asker has given up.
BEELINE_ROLE(late_answer) {
  auto& board = context.board<InboxBoard>();
  auto agent = attach("late");
  ASSERT_TRUE(agent);
  Message first = next_message(*agent);
  ASSERT_TRUE(first.valid());
  ASSERT_TRUE(board.go.await(1, patience()));
  EXPECT_TRUE(agent->reply(first, "late answer"));
  first.done();
  Message second = next_message(*agent);
  ASSERT_TRUE(second.valid());
  EXPECT_TRUE(agent->reply(second, "prompt answer"));
  second.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Takes the request and ends for good without an answer.
BEELINE_ROLE(mayfly) {
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
}

TEST_P(FlowInbox, ARequestToAnAgentThatDiesForGoodFails) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("mayfly");
  const Peer mayfly = peer_of(*agent, "mayfly");
  auto answer = agent->request(mayfly, "are you there", patience());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kPeerDeadTaken) << answer.error().text;
  EXPECT_EQ(agent->send(mayfly, "too late").status, SendStatus::kPeerDead);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowInbox, AReplyDoesNotWaitBehindTheInbox) {
  auto agent = attach("asker");
  auto other = attach("other");
  ASSERT_TRUE(agent && other);
  troupe().start("late_answer");
  board<InboxBoard>().go.raise();
  const Peer asker = peer_of(*other, "asker");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(other->send(asker, "in front", {.rank = kCritical + (i % 16 == 0 ? 0 : 1)}));
  }
  for (const char* expected : {"late answer", "prompt answer"}) {
    auto answer = agent->request(peer_of(*agent, "late"), "?", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->text(), expected);
    answer->done();
  }
  // None was handed out; the last one may still lie in the lane.
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 100));
  EXPECT_EQ(agent->counters().queued, 100U);
  EXPECT_EQ(agent->counters().done, 2U);
  expect_balance(*agent);
  troupe().wait_all(patience());
}

// ---- Selective receive --------------------------------------------------------------------------

constexpr int kOfEachKind = 10;

// Sends 10 messages of each of four kinds, numbered in the order in which they are sent.
BEELINE_ROLE(selected) {
  auto& board = context.board<InboxBoard>();
  auto agent = attach("selected-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "chooser");
  for (int i = 0; i < 4 * kOfEachKind; ++i) {
    SendOptions options;
    if (i % 4 == 1) options.type = "red";
    if (i % 4 == 2) options.channel = "news";
    if (i % 4 == 3) options.reply_to = 4711;
    ASSERT_TRUE(agent->send(to, std::to_string(i), options));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Everything that matches, as number texts in the order of delivery.
std::vector<int> take_all(Agent& agent, const Filter& filter) {
  std::vector<int> taken;
  while (auto message = agent.try_receive(filter)) {
    taken.push_back(std::stoi(std::string(message->text())));
    message->done();
  }
  return taken;
}

std::vector<int> every_fourth(int first) {
  std::vector<int> numbers;
  for (int i = 0; i < kOfEachKind; ++i) numbers.push_back(first + 4 * i);
  return numbers;
}

TEST_P(FlowInbox, SelectiveReceiveLeavesTheRestAsItWas) {
  auto agent = attach("chooser");
  ASSERT_TRUE(agent);
  troupe().start("selected", 0);
  ASSERT_TRUE(board<InboxBoard>().sent.await(1, patience()));
  troupe().start("selected", 1);
  ASSERT_TRUE(board<InboxBoard>().sent.await(2, patience()));
  // The senders leave once all messages are in the inbox.
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 8 * kOfEachKind));
  troupe().wait_all(patience());
  const Pid first = agent->inbox(1).front().from;
  EXPECT_EQ(take_all(*agent, {.from = first, .type = "red"}), every_fourth(1));
  EXPECT_EQ(take_all(*agent, {.from = first, .channel = "news"}), every_fourth(2));
  EXPECT_EQ(take_all(*agent, {.from = first, .reply_to = 4711}), every_fourth(3));
  EXPECT_EQ(take_all(*agent, {.type = "blue"}), std::vector<int>());
  EXPECT_EQ(take_all(*agent, {.from = first}), every_fourth(0));
  std::vector<int> all;
  for (int i = 0; i < 4 * kOfEachKind; ++i) all.push_back(i);
  EXPECT_EQ(take_all(*agent, {}), all);
  EXPECT_EQ(agent->counters().queued, 0U);
  expect_balance(*agent);
}

// ---- Dead letters -------------------------------------------------------------------------------

BEELINE_ROLE(sends_the_doomed) {
  auto& board = context.board<InboxBoard>();
  auto agent = attach("doomed");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "judge");
  ASSERT_TRUE(agent->send(to, "x", {.type = "rejected"}));
  ASSERT_TRUE(agent->send(to, "x", {.type = "exhausted"}));
  ASSERT_TRUE(agent->send(to, "x", {.type = "expired", .ttl_ms = 1}));
  ASSERT_TRUE(agent->send(to, std::string(3000, 'x'), {.type = "kept"}));
  board.sent.raise();
}

TEST_P(FlowInbox, MessagesThatFailBecomeDeadLettersWithTheirReasons) {
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  troupe().start("sends_the_doomed");
  ASSERT_TRUE(board<InboxBoard>().sent.await(1, patience()));
  // One message has to expire, and nothing signals that.
  EXPECT_FALSE(agent->receive({.timeout = 30ms, .filter = kNobody}));
  EXPECT_EQ(agent->counters().queued, 3U) << "C-20: an expired one is not counted";
  EXPECT_EQ(agent->inbox().back().reason, "expired") << "C-20: nor listed as one that waits";
  Message rejected = next_message(*agent, {.type = "rejected"});
  ASSERT_TRUE(rejected.valid());
  rejected.reject();
  for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
    Message message = next_message(*agent, {.type = "exhausted"});
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.attempts(), attempt);
    EXPECT_EQ(message.redelivered(), attempt != 0);
    message.requeue();
  }
  EXPECT_FALSE(agent->try_receive({.type = "exhausted"}));
  EXPECT_FALSE(agent->try_receive({.type = "expired"}));
  Message kept = next_message(*agent);
  ASSERT_TRUE(kept.valid());
  EXPECT_EQ(kept.type(), "kept");
  EXPECT_EQ(agent->counters().leased, 1U);
  expect_balance(*agent);
  kept.done();
  std::map<std::string, std::string> reasons;
  for (const InboxItem& item : agent->inbox()) {
    EXPECT_TRUE(item.dead);
    reasons[item.type] = item.reason;
  }
  const std::map<std::string, std::string> expected{
      {"rejected", "rejected"}, {"exhausted", "exhausted"}, {"expired", "expired"}};
  EXPECT_EQ(reasons, expected);
  const InboxCounters counters = agent->counters();
  EXPECT_EQ(counters.drained, 4U);
  EXPECT_EQ(counters.done, 1U);
  EXPECT_EQ(counters.dead, 3U);
  EXPECT_EQ(counters.requeued, 3U);
  expect_balance(*agent);
  troupe().wait_all(patience());
}

constexpr std::uint32_t kBadLives = 7;  // more than a link has receipt banks

// Each life sends one message that is refused, then a good one.
BEELINE_ROLE(sends_one_bad) {
  auto agent = attach("mortal");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "judge");
  const std::string number = std::to_string(context.number);
  ASSERT_TRUE(agent->send(to, number, {.type = "bad"}));
  ASSERT_TRUE(agent->send(to, number, {.type = "good"}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowInbox, DeadLettersOfDeadSendersDoNotStopTheirSuccessors) {
  auto agent = attach("judge");
  ASSERT_TRUE(agent);
  for (std::uint32_t life = 0; life < kBadLives; ++life) {
    const std::size_t place = troupe().start("sends_one_bad", life);
    Message bad = next_message(*agent, {.type = "bad"});
    ASSERT_TRUE(bad.valid()) << "life " << life;
    bad.reject();
    Message good = next_message(*agent, {.type = "good"});
    ASSERT_TRUE(good.valid()) << "life " << life;
    EXPECT_EQ(good.text(), std::to_string(life));
    good.done();
    troupe().wait(place, patience());
  }
  EXPECT_EQ(agent->counters().dead, kBadLives);
  for (const InboxItem& item : agent->inbox()) EXPECT_EQ(item.type, "bad");
  expect_balance(*agent);
}

constexpr std::uint32_t kGuests = 20;

BEELINE_ROLE(guest) {
  AttachOptions options = named("guest");
  options.temporary = context.number % 2 == 0;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  auto answer = agent->request(peer_of(*agent, "inn"), std::string(2000, 'x'), patience());
  ASSERT_TRUE(answer) << answer.error().text;
  answer->done();
}

TEST_P(FlowInbox, AnAgentHoldsNothingOfPeersThatHaveGone) {
  auto agent = attach("inn");
  ASSERT_TRUE(agent);
  std::vector<std::size_t> open_fds;
  for (std::uint32_t i = 0; i < kGuests; ++i) {
    const std::size_t place = troupe().start("guest", i);
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_TRUE(agent->reply(message, "welcome"));
    message.done();
    troupe().wait(place, patience());
    // Reads the announcements of the coordinator.
    EXPECT_FALSE(agent->receive({.timeout = 20ms}));
    open_fds.push_back(count_open_fds());
  }
  EXPECT_LE(open_fds.back(), open_fds[3] + 4) << "descriptors of guests that have left stay open";
  expect_balance(*agent);
}

// ---- Tasks --------------------------------------------------------------------------------------

constexpr int kTaskMessages = 300;  // more than a lane holds: receipts are needed both ways

BEELINE_ROLE(task) {
  auto& board = context.board<InboxBoard>();
  AttachOptions options = named("task", "boss");
  options.role = "task";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const auto denied = agent->peer("stranger");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, ErrorCode::kDenied) << denied.error().text;
  EXPECT_EQ(agent->send("stranger", "hello").status, SendStatus::kDenied);
  const Peer boss = peer_of(*agent, "boss");
  board.attached.raise();
  for (int i = 0; i < 2 * kTaskMessages; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    if (message.from() == boss.pid) {
      EXPECT_EQ(agent->send_until(boss, message.payload(), patience()).status, SendStatus::kOk);
    } else {
      EXPECT_EQ(agent->reply(message, "hello").status, SendStatus::kDenied);
    }
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(stranger) {
  auto& board = context.board<InboxBoard>();
  auto agent = attach("stranger");
  ASSERT_TRUE(agent);
  board.go.raise();
  ASSERT_TRUE(board.attached.await(1, patience()));
  const Peer task = peer_of(*agent, "task");
  for (int i = 0; i < kTaskMessages; ++i) {
    ASSERT_EQ(agent->send_until(task, "order", patience()).status, SendStatus::kOk) << i;
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
  EXPECT_FALSE(agent->try_receive());
}

TEST_P(FlowInbox, ATaskSendsToItsParentAloneAndAllItsSendersGetReceipts) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  troupe().start("stranger");
  ASSERT_TRUE(board<InboxBoard>().go.await(1, patience()));
  troupe().start("task");
  ASSERT_TRUE(board<InboxBoard>().attached.await(1, patience()));
  const Peer task = peer_of(*boss, "task");
  for (int i = 0; i < kTaskMessages; ++i) {
    ASSERT_EQ(boss->send_until(task, std::to_string(i), patience()).status, SendStatus::kOk) << i;
  }
  for (int i = 0; i < kTaskMessages; ++i) {
    Message message = next_message(*boss);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), std::to_string(i));
    message.done();
  }
  troupe().wait_all(patience());
  expect_balance(*boss);
}

}  // namespace
}  // namespace beeline::test
