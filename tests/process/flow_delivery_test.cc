// From a send to a handler: types, ids, order and age, time to live, what is listed, and what waits
// until its receiver is ready.

#include <set>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct DeliveryBoard {
  Event attached;
  Event sent;
  Event go;
};

class FlowDelivery : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowDelivery);

// Matches nothing, but a look for it drains the lanes.
const Filter kNobody{.reply_to = ~0ULL};

// Everything that was sent lies in the table when it returns.
void drain(Agent& agent, std::uint64_t count) {
  while (agent.counters().drained < count) {
    EXPECT_FALSE(agent.receive({.timeout = 1ms, .filter = kNobody}));
  }
}

std::vector<std::string> take_all(Agent& agent) {
  std::vector<std::string> texts;
  while (auto message = agent.try_receive()) {
    texts.emplace_back(message->text());
    message->done();
  }
  return texts;
}

// Waits until the coarse clock, by which messages are stamped, is past `ns` from now.
void let_pass(std::int64_t ns) {
  const std::int64_t until = os::coarse_ns() + ns;
  while (os::coarse_ns() <= until) {
  }
}

const std::string_view kTypes[] = {kTaskRequest,  kTaskResponse, kCronTask, kCronResult,
                                   kNotification, kEscalation,   "invented"};

BEELINE_ROLE(typed_sender) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  std::set<MessageId> ids;
  for (const std::string_view type : kTypes) {
    const SendResult sent = agent->send(to, type, {.type = type});
    ASSERT_TRUE(sent);
    EXPECT_NE(sent.id, 0U);
    EXPECT_TRUE(ids.insert(sent.id).second) << "HK-003";
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_002_EveryTypeIsDeliveredUnchanged) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->counters().drained, 0U);
  EXPECT_TRUE(agent->inbox().empty()) << "HK-020, HK-024";
  troupe().start("typed_sender");
  std::set<MessageId> ids;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.type(), message.text());
    ids.insert(message.id());
    message.done();
  }
  EXPECT_EQ(ids.size(), std::size(kTypes)) << "HK-003";
  troupe().wait_all(patience());
}

// ---- Order and age ------------------------------------------------------------------------------

// Sends LOW, CRITICAL, NORMAL, and eight equal ones.
BEELINE_ROLE(ranked) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "low", {.rank = kLow}));
  ASSERT_TRUE(agent->send(to, "critical", {.rank = kCritical}));
  ASSERT_TRUE(agent->send(to, "normal", {.rank = kNormal}));
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(agent->send(to, std::to_string(i), {.rank = kHigh}));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_004_C_03_LowerRanksFirstAndEqualOnesAsTheyWereSent) {
  std::uint64_t sent = 0;
  for (const double factor : {0.1, 0.0}) {
    AttachOptions options = named("receiver");
    options.aging_factor = factor;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t sender = troupe().start("ranked");
    drain(*agent, sent += 11);  // counters are a predecessor's too
    ASSERT_FALSE(agent->inbox().empty());
    EXPECT_EQ(agent->inbox().front().preview, "critical") << "HK-024";
    // Siblings under the coordinator: low counts as normal (HK-007), and came first.
    EXPECT_EQ(take_all(*agent), (std::vector<std::string>{"critical", "0", "1", "2", "3", "4", "5",
                                                          "6", "7", "low", "normal"}))
        << "HK-010, factor " << factor;
    troupe().wait(sender, patience());
    EXPECT_EQ(agent->detach(), 0U);
  }
}

constexpr double kFast = 50;  // ranks per second: one is worth 20 ms

// A LOW message grows old before CRITICAL ones are sent.
BEELINE_ROLE(aging) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("child", "receiver");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "old low", {.rank = kLow}));
  let_pass(100'000'000);
  ASSERT_TRUE(agent->send(to, "fresh critical", {.rank = kCritical}));
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_008_AMessageThatIsOldEnoughOvertakesFreshUrgentOnes) {
  auto& shared = board<DeliveryBoard>();
  std::uint32_t round = 0;
  for (const double factor : {kFast, 0.1, 0.0}) {
    AttachOptions options = named("receiver");
    options.aging_factor = factor;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t sender = troupe().start("aging");
    // Both arrive together: age counts from the send (HK-011).
    ASSERT_TRUE(shared.sent.await(++round, patience()));
    drain(*agent, 2 * round);
    const auto texts = take_all(*agent);
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts.front(), factor == kFast ? "old low" : "fresh critical") << "factor " << factor;
    troupe().wait(sender, patience());
    EXPECT_EQ(agent->detach(), 0U);
  }
}

// ---- Time to live -------------------------------------------------------------------------------

BEELINE_ROLE(ephemeral) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "soon over", {.ttl_ms = 1}));
  ASSERT_TRUE(agent->send(to, "for long", {.ttl_ms = 1'000'000}));
  ASSERT_TRUE(agent->send(to, "for ever"));
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_022_HK_023_WhatHasExpiredIsNeitherListedNorDelivered) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("ephemeral");
  ASSERT_TRUE(shared.sent.await(1, patience()));
  let_pass(20'000'000);
  drain(*agent, 3);
  const auto listed = agent->inbox();
  ASSERT_EQ(listed.size(), 2U) << "C-20";
  EXPECT_EQ(listed[0].preview, "for long");
  EXPECT_EQ(take_all(*agent), (std::vector<std::string>{"for long", "for ever"}));
  const auto dead = agent->inbox();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].reason, "expired");
  EXPECT_EQ(agent->counters().queued, 0U);
  troupe().wait_all(patience());
}

// ---- Listing, and inboxes that are gone ---------------------------------------------------------

// Leaves what it was sent, and dies for good.
BEELINE_ROLE(forgetful) {
  auto& board = context.board<DeliveryBoard>();
  AttachOptions options = named("forgetful");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  drain(*agent, 3);
  const auto items = agent->inbox();
  EXPECT_EQ(items.size(), 3U) << "HK-024";
  EXPECT_EQ(agent->inbox().size(), 3U) << "nothing is taken";
  EXPECT_EQ(agent->counters().queued, 3U);
  Message first = next_message(*agent);
  first.done();
}

TEST_P(FlowDelivery, HK_025_TheInboxOfTheDeadIsGoneAndItsMessagesAreDeadLetters) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("forgetful");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer to = peer_of(*agent, "forgetful");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(agent->send(to, std::to_string(i)));
  troupe().wait_all(patience());
  const Deadline deadline = patience();
  while (hive().status().dead_letters < 2 && std::chrono::steady_clock::now() < deadline) {
    EXPECT_FALSE(agent->receive({.timeout = 1ms}));
  }
  EXPECT_EQ(hive().status().dead_letters, 2U) << "C-16";
  EXPECT_EQ(agent->send(to, "x").status, SendStatus::kPeerDead);
}

// ---- Handlers -----------------------------------------------------------------------------------

BEELINE_ROLE(early_sender) {
  auto& board = context.board<DeliveryBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(agent->send(to, std::to_string(i), {.rank = i, .type = "early", .reply_to = 9}));
  }
  ASSERT_TRUE(agent->send(to, "other", {.type = "other"}));
  board.sent.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  ASSERT_TRUE(agent->send(to, "wake up", {.type = "late"}));
  Message question = next_message(*agent);
  ASSERT_TRUE(question.valid());
  EXPECT_TRUE(agent->reply(question, "answer"));
  question.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowDelivery, HK_056_WhatIsSentBeforeTheHandlerIsReadyReachesItOnce) {
  auto& shared = board<DeliveryBoard>();
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("early_sender");
  ASSERT_TRUE(shared.sent.await(1, patience()));
  std::vector<std::string> handled;
  const auto handle = [&](Message& message) {
    handled.emplace_back(message.text());
    EXPECT_EQ(message.reply_to(), 9U) << "HK-052";
    EXPECT_EQ(message.relation(), Relation::kSibling) << "C-38";
    EXPECT_EQ(message.rank(), static_cast<std::int32_t>(handled.size()) - 1);
    EXPECT_GT(message.sent_ns(), 0);
    EXPECT_FALSE(message.redelivered());
    return Ack{};  // HK-061
  };
  // HK-026: the filter leaves the others where they are.
  const ServeOptions early{.most = 3, .filter = {.type = "early"}};
  EXPECT_EQ(*agent->serve(handle, early), 3U);
  EXPECT_EQ(handled, (std::vector<std::string>{"0", "1", "2"})) << "HK-050";
  EXPECT_EQ(*agent->serve(handle, {.until = after(1ms), .filter = {.type = "early"}}), 0U)
      << "HK-055, HK-051";
  EXPECT_EQ(agent->inbox().size(), 1U);

  // HK-057: a handler that waits is woken; HK-066: and may itself ask while it handles.
  shared.go.raise();
  const auto ask = [&](Message& message) {
    auto answer = agent->request(peer_of(*agent, "sender"), "question", patience());
    EXPECT_TRUE(answer && answer->text() == "answer");
    if (answer) answer->done();
    EXPECT_EQ(message.text(), "wake up");
    return Ack{};
  };
  EXPECT_EQ(*agent->serve(ask, {.most = 1, .filter = {.type = "late"}}), 1U);
  EXPECT_EQ(take_all(*agent), (std::vector<std::string>{"other"}));
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
