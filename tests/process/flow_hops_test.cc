// Messages at the hop limit, and the answers and escalations to them.

#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct HopsBoard {
  Event attached;
  Event ended;
};

class FlowHops : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowHops);

AttachOptions limited(const std::string& name, const std::string& parent, std::uint16_t max_hops) {
  AttachOptions options = named(name, parent);
  options.max_hops = max_hops;
  return options;
}

// Answers, or escalates "hard" messages.
BEELINE_ROLE(at_the_limit) {
  auto agent = attach(limited("clerk", "boss", 1));
  ASSERT_TRUE(agent);
  for (std::string what; what != "stop";) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    what = message.type();
    if (what == "hard") {
      EXPECT_TRUE(message.escalate());
    } else if (what == "by hand") {
      EXPECT_TRUE(agent->send("boss", "an answer", {.reply_to = message.id()}));
      EXPECT_EQ(agent->send("boss", "no answer").status, SendStatus::kLoop);
      message.done();
    } else if (what == "by loan") {
      auto loan = agent->loan(peer_of(*agent, "boss"), 9);
      ASSERT_TRUE(loan) << loan.error().text;
      EXPECT_EQ(agent->send(*loan).status, SendStatus::kLoop) << "no answer";
      EXPECT_TRUE(agent->send(*loan, {.reply_to = message.id()}));
      message.done();
    } else if (what != "stop") {
      EXPECT_TRUE(agent->reply(message, "an answer"));
    }
    if (message.valid()) message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowHops, AMessageAtItsLimitOfHopsIsAnsweredAndEscalated) {
  auto agent = attach(limited("boss", "", 1));
  ASSERT_TRUE(agent);
  troupe().start("at_the_limit");
  const Peer clerk = peer_of(*agent, "clerk");
  ASSERT_TRUE(agent->send("boss", "begin"));
  Message begin = next_message(*agent);
  ASSERT_TRUE(begin.valid());
  for (const char* type : {"", "by hand", "by loan"}) {
    auto answer = agent->request(clerk, "?", patience(), {.type = type});
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->hops(), 1U) << "as far away as the request";
    answer->done();
  }
  ASSERT_TRUE(agent->send(clerk, "too hard", {.type = "hard"}));
  Message escalation = next_message(*agent, {.type = kEscalation});
  ASSERT_TRUE(escalation.valid());
  EXPECT_EQ(escalation.hops(), 1U);
  escalation.done();
  begin.done();
  ASSERT_TRUE(agent->send(clerk, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

enum BackKind : std::uint32_t { kReplies = 0, kEscalates = 1, kByHand = 2 };

constexpr std::uint16_t kFew = 4;

// Sends every message back to its sender until it may not.
BEELINE_ROLE(sends_back) {
  auto& board = context.board<HopsBoard>();
  const auto kind = static_cast<BackKind>(context.number);
  auto agent = attach(limited("back", "boss", kFew));
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    SendResult sent;
    if (last) {
      message.done();
      break;
    }
    if (kind == kReplies) sent = agent->reply(message, "back");
    if (kind == kEscalates) sent = message.escalate();
    if (kind == kByHand) sent = agent->send("boss", "back", {.reply_to = message.id()});
    if (sent.status == SendStatus::kLoop) board.ended.raise();
    if (message.valid()) message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowHops, AnswersToAnswersAndToEscalationsEnd) {
  auto& shared = board<HopsBoard>();
  std::uint32_t ended = 0;
  for (const std::uint32_t kind : {kReplies, kEscalates, kByHand}) {
    auto agent = attach(limited("boss", "", kFew));
    ASSERT_TRUE(agent);
    troupe().start("sends_back", kind);
    ASSERT_TRUE(shared.attached.await(kind + 1, patience()));
    const Peer back = peer_of(*agent, "back");
    ASSERT_TRUE(agent->send(back, "begin"));
    std::uint32_t steps = 0;
    bool over = false;
    while (!over && steps <= 100) {
      auto message = agent->receive({.timeout = 1ms});
      over = shared.ended.count() > ended;
      if (!message) continue;
      ++steps;
      const SendResult sent = agent->reply(*message, "on");
      over |= sent.status == SendStatus::kLoop;
      message->done();
    }
    ended = shared.ended.count();
    EXPECT_LE(steps, 2U * (kFew + 1U)) << "kind " << kind;
    EXPECT_GE(steps, 1U);
    ASSERT_TRUE(agent->send(back, "", {.type = "stop"}));
    troupe().wait_all(patience());
    while (auto message = agent->try_receive()) message->done();
    expect_balance(*agent);
  }
}

}  // namespace
}  // namespace beeline::test
