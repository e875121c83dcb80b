// A request is answered by a reply, or by the text with which the receiver ends it. If there is
// neither, the sender learns the reason.

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct AnswerBoard {
  Event attached;
  Event go;
};

class FlowAnswer : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowAnswer);

// Treats each message as its type says.
class Clerk {
 public:
  explicit Clerk(AnswerBoard& board) : agent_(attach("clerk", "boss")) { board.attached.raise(); }
  void run() {
    ASSERT_TRUE(agent_);
    const auto served = agent_->serve([this](Message& message) { return handle(message); });
    EXPECT_TRUE(served) << served.error().text;
    EXPECT_EQ(agent_->detach(patience()), 0U);
    expect_balance(*agent_);
  }

 private:
  Ack handle(Message& message) {
    const std::string what(message.type());
    if (what == "return") return {AckStatus::kAccepted, "returned"};
    if (what == "done") message.done("done with it");
    if (what == "reply and return" || what == "urgent reply") {
      const std::int32_t rank = what == "urgent reply" ? kCritical : kNormal;
      EXPECT_TRUE(agent_->reply(message, "replied", {.rank = rank}));
      return {AckStatus::kAccepted, "returned"};
    }
    if (what == "by hand") {
      EXPECT_TRUE(agent_->send("boss", "sent", {.reply_to = message.id()}));
      return {};  // a text would be a second answer
    }
    if (what == "reject") return {AckStatus::kRejected, "not my job"};
    if (what == "escalate") return {AckStatus::kEscalate, {}};
    if (what == "throw") throw std::runtime_error("as it was told");
    if (what == "keep") {
      kept_ = message.id();
      return {AckStatus::kQueued, "later"};
    }
    if (what == "finish") {
      Message kept = agent_->held(kept_).value();
      kept.done(message.text());
    }
    if (what == "stop") agent_->stop_serving();
    return {};
  }

  std::optional<Agent> agent_;
  MessageId kept_ = 0;
};

BEELINE_ROLE(clerk) { Clerk(context.board<AnswerBoard>()).run(); }

class Boss {
 public:
  Boss(AnswerBoard& board, Troupe& troupe) : troupe_(troupe), agent_(attach("boss")) {
    troupe.start("clerk");
    EXPECT_TRUE(board.attached.await(1, patience()));
    clerk_ = peer_of(*agent_, "clerk");
  }
  [[nodiscard]] Agent* operator->() { return &*agent_; }
  [[nodiscard]] Peer clerk() const { return clerk_; }
  // The answer, or the code of the error and its text.
  [[nodiscard]] std::string ask(std::string_view type, SendOptions options = {}) {
    options.type = type;
    const auto answer = agent_->request(clerk_, "?", patience(), options);
    if (answer) return std::string(answer->text());
    return std::string(to_string(answer.error().code)) + ": " + answer.error().text;
  }
  void stop() {
    EXPECT_TRUE(agent_->send(clerk_, "", {.type = "stop"}));
    troupe_.wait_all(patience());
    const InboxCounters counters = agent_->counters();
    EXPECT_EQ(counters.queued, 0U) << "nothing is kept of what was answered";
    EXPECT_EQ(counters.leased, 0U);
    EXPECT_EQ(counters.acks_unread, 0U);
    EXPECT_EQ(counters.late_replies, 0U);
    expect_balance(*agent_);
  }

 private:
  Troupe& troupe_;
  std::optional<Agent> agent_;
  Peer clerk_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_P(FlowAnswer, TheTextOfAnAckOrOfDoneAnswersARequestThatGotNoReply) {
  Boss boss(board<AnswerBoard>(), troupe());
  EXPECT_EQ(boss.ask("return"), "returned");
  EXPECT_EQ(boss.ask("done"), "done with it");
  EXPECT_EQ(boss.ask("return", {.rank = kCritical}), "returned");
  for (const char* type : {"reply and return", "urgent reply"}) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(boss.ask(type), "replied");
  }
  EXPECT_EQ(boss.ask("by hand"), "sent");
  std::vector<std::string> answers;
  const auto then = [&](Result<Message> answer) {
    answers.emplace_back(answer ? std::string(answer->text()) : answer.error().text);
    if (answers.size() == 2) boss->stop_serving();
  };
  ASSERT_TRUE(boss->request_then(boss.clerk(), "?", patience(), then, {.type = "keep"}));
  ASSERT_TRUE(
      boss->request_then(boss.clerk(), "it is finished", patience(), then, {.type = "finish"}));
  EXPECT_TRUE(boss->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0], "it is finished") << "what was taken over, when it was done";
  EXPECT_HAS(answers[1], "finished it without an answer");
  boss.stop();
}

TEST_P(FlowAnswer, AWordDoesNotWaitForAFullInbox) {
  AttachOptions options = named("boss");
  options.inbox_capacity = 16;
  auto boss = attach(options);
  ASSERT_TRUE(boss);
  troupe().start("clerk");
  ASSERT_TRUE(board<AnswerBoard>().attached.await(1, patience()));
  ASSERT_NO_FATAL_FAILURE(drain_until(*boss, [&] {
    (void)boss->send("boss", "in the way");
    return boss->counters().queued >= 14;
  }));
  const Peer clerk = peer_of(*boss, "clerk");
  {
    const auto answer = boss->request(clerk, "?", patience(), {.type = "return"});
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->text(), "returned");
  }
  while (auto message = boss->try_receive()) message->done();
  ASSERT_TRUE(boss->send(clerk, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*boss);
}

TEST_P(FlowAnswer, ARequestWithoutAnAnswerReportsTheEndOfItsMessageAtOnce) {
  Boss boss(board<AnswerBoard>(), troupe());
  const std::string finished = boss.ask("nothing");
  EXPECT_EQ(finished.find("unanswered: message "), 0U) << finished;
  EXPECT_HAS(finished, "the receiver finished it without an answer");
  const std::string rejected = boss.ask("reject");
  EXPECT_EQ(rejected.find("rejected: message "), 0U) << rejected;
  EXPECT_HAS(rejected, "dead letter: not my job");
  EXPECT_HAS(boss.ask("throw"), "dead letter: exhausted");
  const std::string escalated = boss.ask("escalate");
  EXPECT_EQ(escalated.find("unanswered: "), 0U) << escalated;
  EXPECT_HAS(escalated, "escalation");
  Message escalation = next_message(*boss.operator->());
  ASSERT_TRUE(escalation.valid());
  escalation.done();
  boss.stop();
}

TEST_P(FlowAnswer, ATextThatComesLateIsKeptAside) {
  Boss boss(board<AnswerBoard>(), troupe());
  const auto early = boss->request(boss.clerk(), "?", after(1ms), {.type = "keep"});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kTimeout);
  EXPECT_HAS(boss.ask("finish"), "finished it without an answer");
  const auto results = boss->drain_pending_results();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].text(), "?");
  EXPECT_EQ(boss->counters().late_replies, 1U);
  ASSERT_TRUE(boss->send(boss.clerk(), "", {.type = "stop"}));
  troupe().wait_all(patience());
}

// The clerk owes more texts than the asker's lane holds, and is killed.
TEST_P(FlowAnswer, NoTextIsLostHoweverManyAreOwed) {
  constexpr int kMany = 600;
  Boss boss(board<AnswerBoard>(), troupe());
  int answered = 0;
  const auto then = [&](const Result<Message>& answer) {
    EXPECT_TRUE(answer && answer->text() == "returned") << (answer ? "" : answer.error().text);
    if (++answered == kMany) boss->stop_serving();
  };
  for (int asked = 0; asked < kMany;) {
    const auto id = boss->request_then(boss.clerk(), "?", patience(), then, {.type = "return"});
    if (!id) {
      ASSERT_EQ(id.error().code, ErrorCode::kFull) << id.error().text;
      std::this_thread::yield();
    }
    asked += id ? 1 : 0;
  }
  if (GetParam() == World::kProcesses) {
    troupe().kill(0);
    troupe().start("clerk");
  }
  EXPECT_TRUE(boss->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_EQ(answered, kMany);
  ASSERT_TRUE(boss->send(boss.clerk(), "", {.type = "stop"}));
  troupe().wait_all(patience());
}

TEST_P(FlowAnswer, AnAgentThatLeavesPutsMessagesBackAtNoAttemptIfTheirTextsFindNoRoom) {
  auto boss = attach("boss");
  AttachOptions options = named("clerk");
  options.max_attempts = 1;
  options.normal_slots = 128;
  auto clerk = attach(options);
  ASSERT_TRUE(boss && clerk);
  const Peer to = peer_of(*boss, "clerk");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(boss->request_then(to, "?", patience(), [](const Result<Message>&) {}));
    }
    const auto yes = [](Message&) { return Ack{AckStatus::kAccepted, "yes"}; };
    ASSERT_TRUE(clerk->serve(yes, {.until = patience(), .most = 100}));
  }
  const std::uint64_t owed = clerk->counters().leased;
  EXPECT_GE(owed, 200U - options.normal_slots);
  clerk.reset();
  clerk = attach(options);
  ASSERT_TRUE(clerk);
  EXPECT_EQ(clerk->counters().dead, 0U);
  for (std::uint64_t i = 0; i < owed; ++i) {
    Message message = next_message(*clerk);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.attempts(), 0U);
    message.done();
  }
  EXPECT_FALSE(clerk->try_receive());
}

TEST_P(FlowAnswer, ARequestThatExpiresSaysSo) {
  auto boss = attach("boss");
  auto clerk = attach("clerk");
  ASSERT_TRUE(boss && clerk);
  std::string error;
  const auto then = [&](const Result<Message>& answer) {
    if (!answer) error = answer.error().text;
    boss->stop_serving();
  };
  const Peer to = peer_of(*boss, "clerk");
  ASSERT_TRUE(boss->request_then(to, "?", patience(), then, {.ttl_ms = 1}));
  let_pass(5ms);
  EXPECT_FALSE(clerk->receive({.timeout = 10ms}));
  EXPECT_TRUE(boss->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_HAS(error, "dead letter: expired");
}

TEST_P(FlowAnswer, AnAskerThatWantsAnAcknowledgementOfItsRequestGetsItAsBefore) {
  Boss boss(board<AnswerBoard>(), troupe());
  auto answer = boss->request(boss.clerk(), "?", patience(),
                              {.type = "reply and return", .requires_ack = true});
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), "replied");
  const auto ack = boss->await_ack(boss.clerk(), answer->reply_to(), patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->reply, "returned");
  answer->done();
  boss.stop();
}

TEST_P(FlowAnswer, AnAnswerThatIsDroppedIsGone) {
  Boss boss(board<AnswerBoard>(), troupe());
  (void)boss->request(boss.clerk(), "?", patience(), {.type = "reply and return"});
  (void)boss->request(boss.clerk(), "?", patience(), {.type = "return"});
  EXPECT_TRUE(boss->inbox().empty());
  EXPECT_TRUE(boss->drain_pending_results().empty());
  boss.stop();
}

// A task under "boss" that answers questions.
BEELINE_ROLE(answering_task) {
  auto& board = context.board<AnswerBoard>();
  AttachOptions options = named("task", "boss");
  options.role = "task";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(agent->serve(
      [](Message&) {
        return Ack{AckStatus::kAccepted, "yes"};
      },
      {.until = patience(), .most = 1}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowAnswer, ARequestThatNobodyMayAnswerIsRefused) {
  auto boss = attach("boss");
  auto sibling = attach("sibling", "boss");
  auto stranger = attach("stranger");
  ASSERT_TRUE(boss && sibling && stranger);
  troupe().start("answering_task");
  ASSERT_TRUE(board<AnswerBoard>().attached.await(1, patience()));
  for (Agent* other : {&*sibling, &*stranger}) {
    const Peer task = peer_of(*other, "task");
    const auto answer = other->request(task, "?", patience());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kDenied);
    EXPECT_HAS(answer.error().text, "can only send to its parent");
    EXPECT_HAS(answer.error().text, "nothing was sent");
    const auto ack = other->send_acked(task, "?", patience());
    ASSERT_FALSE(ack);
    EXPECT_EQ(ack.error().code, ErrorCode::kDenied);
    EXPECT_EQ(other->links().at(0).sent, 0U);
  }
  const auto answer = boss->request("task", "?");
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), "yes");
  troupe().wait_all(patience());
}

TEST_P(FlowAnswer, ARequestToAnAgentWithoutAProcessSaysSinceWhen) {
  auto boss = attach("boss");
  ASSERT_TRUE(boss);
  {
    auto gone = attach("gone");
    ASSERT_TRUE(gone);
  }
  const auto answer = boss->request(peer_of(*boss, "gone"), "?", after(1ms));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  EXPECT_HAS(answer.error().text, "the receiver has no process since 20");
  EXPECT_HAS(answer.error().text, "start \"gone\" again");
}

}  // namespace
}  // namespace beeline::test
