// Messages that have expired are not shown as waiting, in any view.

#include <algorithm>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct ExpiryBoard {
  Event sent;
  Event go;
};

class FlowExpiry : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowExpiry);

constexpr std::uint32_t kShort = 1;  // ms

// Waits until the short-lived messages have expired.
void let_expire() { let_pass(20ms); }

std::size_t count_waiting(Agent& agent) {
  const auto items = agent.inbox();
  return static_cast<std::size_t>(
      std::count_if(items.begin(), items.end(),
                    [](const InboxItem& item) { return !item.dead && !item.leased; }));
}

std::size_t count_expired(Agent& agent) {
  const auto items = agent.inbox();
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const auto& item) {
    return item.dead && item.reason == "expired";
  }));
}

// Sends an unasked answer and a message, both short-lived; then waits for the acknowledgement of
// the second.
BEELINE_ROLE(hasty) {
  auto agent = attach("hasty");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "answer", {.type = kTaskResponse, .reply_to = 9, .ttl_ms = kShort}));
  const auto told = agent->send_acked(to, "message", patience(), {.type = "job", .ttl_ms = kShort});
  ASSERT_TRUE(told) << told.error().text;
  EXPECT_EQ(told->status, AckStatus::kRejected);
  EXPECT_EQ(told->reply, "expired");
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowExpiry, C_20_HK_022_ALookShowsNothingThatIsOverAsWaiting) {
  auto agent = attach("receiver");
  ASSERT_TRUE(agent);
  troupe().start("hasty");
  await_drained(*agent, 2);
  let_expire();
  const InboxCounters now = agent->counters();
  EXPECT_EQ(now.queued, 0U);
  EXPECT_EQ(now.dead, 2U);
  expect_balance(*agent);
  EXPECT_EQ(count_waiting(*agent), 0U) << "neither the message nor the answer";
  EXPECT_EQ(count_expired(*agent), 2U);
  EXPECT_TRUE(agent->drain_pending_results().empty());
  // Nothing was taken, and the sender is told of the end.
  while (agent->next_notice()) {
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

constexpr int kMixed = 200;

BEELINE_ROLE(mixed_expiry) {
  auto& board = context.board<ExpiryBoard>();
  auto agent = attach("mixed");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  for (int i = 0; i < kMixed; ++i) {
    const std::uint32_t ttl = i % 2 == 0 ? kShort : 0;
    const std::int32_t rank = i % 3 == 0 ? kHigh : kNormal;
    ASSERT_TRUE(
        agent->send_until(to, std::to_string(i), patience(), {.rank = rank, .ttl_ms = ttl}));
  }
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowExpiry, TheOtherMessagesKeepTheirOrderHoweverManyHaveExpired) {
  AttachOptions options = named("receiver");
  options.aging_factor = 0;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("mixed_expiry");
  await_drained(*agent, kMixed);
  let_expire();
  EXPECT_EQ(agent->counters().queued, kMixed / 2U);
  expect_balance(*agent);
  for (const std::int32_t rank : {kHigh, kNormal}) {
    for (int i = 1; i < kMixed; i += 2) {
      if ((i % 3 == 0 ? kHigh : kNormal) != rank) continue;
      Message message = next_message(*agent);
      ASSERT_TRUE(message.valid());
      EXPECT_EQ(message.text(), std::to_string(i));
      message.done();
    }
  }
  EXPECT_FALSE(agent->try_receive());
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowExpiry, AMessageThatIsPutBackOrInheritedExpiresToo) {
  for (const bool by_successor : {false, true}) {
    auto agent = attach("receiver");
    ASSERT_TRUE(agent);
    const std::uint64_t dead = agent->counters().dead;
    ASSERT_TRUE(agent->send("receiver", "x", {.ttl_ms = 200}));
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(agent->counters().leased, 1U);
    message.requeue();
    if (by_successor) {
      agent.reset();
      agent = attach("receiver");
      ASSERT_TRUE(agent);
    }
    // Wait for the end of the message, which must come without a take.
    const Deadline deadline = patience();
    while (agent->counters().queued != 0 && std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_EQ(agent->counters().queued, 0U);
    EXPECT_EQ(agent->counters().dead, dead + 1) << (by_successor ? "inherited" : "put back");
    // A user that puts a letter back wants it delivered, late or not.
    for (const InboxItem& item : agent->inbox()) {
      ASSERT_TRUE(agent->requeue_dead(item.id));
    }
    EXPECT_EQ(agent->counters().queued, dead + 1);
    while (auto again = agent->try_receive()) again->reject();
    expect_balance(*agent);
  }
}

// ---- Answers ------------------------------------------------------------------------------------

constexpr std::uint32_t kBrief = 200;  // ms; long enough to be drained first

// Answers twice: at once with a short-lived answer, then with a lasting one when it is told to.
BEELINE_ROLE(answers_twice) {
  auto& board = context.board<ExpiryBoard>();
  auto agent = attach("oracle");
  ASSERT_TRUE(agent);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    Message question = next_message(*agent);
    ASSERT_TRUE(question.valid());
    EXPECT_TRUE(agent->reply(question, "stale", {.ttl_ms = kBrief}));
    board.sent.raise();
    ASSERT_TRUE(board.go.await(round, patience()));
    EXPECT_TRUE(agent->reply(question, "fresh"));
    board.sent.raise();
    question.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowExpiry, C_20_AnAnswerThatHasExpiredAnswersNothing) {
  auto& shared = board<ExpiryBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("answers_twice");
  const Peer oracle = peer_of(*agent, "oracle");
  std::vector<std::string> texts;
  const auto note = [&](Result<Message> answer) {
    texts.emplace_back(answer ? answer->text() : answer.error().text);
    if (answer) answer->done();
    agent->stop_serving();
  };
  const auto nothing = [](Message&) { return Ack{}; };
  // It expires in its lane; then in the inbox, where the waiting asker sees it; then where a look
  // sees it.
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(agent->request_then(oracle, "?", patience(), note));
    ASSERT_TRUE(shared.sent.await(2 * round - 1, patience()));
    if (round != 1) await_drained(*agent, 2 * round - 1);
    let_pass(std::chrono::milliseconds(kBrief + 20));
    if (round == 3) {
      EXPECT_EQ(agent->counters().queued, 0U) << "a look shows it as waiting";
    }
    shared.go.raise();
    ASSERT_TRUE(shared.sent.await(2 * round, patience()));
    ASSERT_TRUE(agent->serve(nothing, {.until = patience()}));
    EXPECT_EQ(count_expired(*agent), round);
  }
  EXPECT_EQ(texts, (std::vector<std::string>(3, "fresh")));
  EXPECT_EQ(agent->counters().late_replies, 0U);
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
