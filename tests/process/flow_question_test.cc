// Requests without a waiting caller: how long an agent remembers them, and how many.

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct QuestionBoard {
  Event attached;
  Event enough;
};

class FlowQuestion : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowQuestion);

// Answers at once. "slow" questions are answered by hand after "finish", under the id in reply_to
// if the question named one.
BEELINE_ROLE(expert) {
  auto agent = attach("expert-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  context.board<QuestionBoard>().attached.raise();
  std::vector<Message> slow;
  const auto handle = [&](Message& message) -> Ack {
    if (message.type() == "slow") {
      slow.push_back(std::move(message));
      return {AckStatus::kQueued, {}};
    }
    if (message.type() == "finish") {
      for (Message& job : slow) {
        const MessageId about = job.reply_to() != 0 ? job.reply_to() : job.id();
        EXPECT_TRUE(agent->send("asker", job.text(), {.reply_to = about}));
        job.done();
      }
      slow.clear();
    }
    if (message.type() == "stop") agent->stop_serving();
    if (message.type().empty()) {
      EXPECT_TRUE(agent->reply(message, "an answer"));
    }
    return {};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// The results have these texts, and the inbox has none of them.
void expect_results(Agent& agent, const std::vector<std::string>& texts) {
  EXPECT_FALSE(agent.try_receive());
  std::vector<Message> results = agent.drain_pending_results();
  std::vector<std::string> found;
  for (Message& result : results) {
    found.emplace_back(result.text());
    result.done();
  }
  EXPECT_EQ(found, texts);
}

TEST_P(FlowQuestion, AnOpenQuestionIsRememberedHoweverManyRequestsFollowIt) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("expert");
  const Peer expert = peer_of(*agent, "expert-0");
  ASSERT_TRUE(agent->fire_and_forget(expert, "the result", {.type = "slow"}));
  for (int i = 0; i < 1100; ++i) {
    if (i == 1099) {
      ASSERT_TRUE(agent->send(expert, "", {.type = "finish"}));
    }
    auto answer = agent->request(expert, "?", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  expect_results(*agent, {"the result"});
  EXPECT_EQ(agent->counters().late_replies, 0U);
  ASSERT_TRUE(agent->send(expert, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// A program with its own loop that takes no message: the messages of others stay in place.
TEST_P(FlowQuestion, ALoopAroundTheFdIsToldOfAnswersAndAcknowledgements) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("expert");
  const Peer expert = peer_of(*agent, "expert-0");
  ASSERT_TRUE(agent->send("asker", "of somebody else"));
  std::vector<std::string> told;
  const auto answered = [&](Result<Message> answer) {
    told.emplace_back(answer ? answer->text() : answer.error().text);
  };
  const auto acknowledged = [&](Result<Acknowledgement> ack) {
    told.emplace_back(ack ? to_string(ack->status) : ack.error().text);
  };
  const Filter none{.reply_to = ~MessageId{0}};
  const auto wait_for = [&](std::size_t count) {
    while (told.size() < count) {
      EXPECT_FALSE(agent->try_receive(none));
      const auto next = agent->run_answers();
      ASSERT_TRUE(next) << next.error().text;
      if (told.size() >= count) break;
      const int fd = agent->fd();
      ASSERT_LT(*next, Deadline::max());
      const auto left = *next - std::chrono::steady_clock::now();
      (void)os::poll_readable(std::span(&fd, 1), left);
    }
  };
  for (std::size_t round = 0; round < 50; ++round) {
    told.clear();
    ASSERT_TRUE(agent->request_then(expert, "?", patience(), answered));
    wait_for(1);
    EXPECT_EQ(told, std::vector<std::string>({"an answer"}));
    ASSERT_TRUE(agent->send_acked_then(expert, "", patience(), acknowledged, {.type = "finish"}));
    wait_for(2);
    EXPECT_EQ(told.back(), "accepted");
  }
  told.clear();
  ASSERT_TRUE(agent->request_then(expert, "?", after(std::chrono::milliseconds(1)), answered,
                                  {.type = "slow"}));
  wait_for(1);
  EXPECT_NE(told.back().find("no answer within"), std::string::npos) << told.back();
  EXPECT_EQ(*agent->run_answers(), Deadline::max());
  ASSERT_TRUE(agent->send(expert, "", {.type = "stop"}));
  troupe().wait_all(patience());
  EXPECT_EQ(next_message(*agent).text(), "of somebody else");
  expect_balance(*agent);
}

TEST_P(FlowQuestion, HK_067_OneIdMayBeAskedOfSeveral) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("expert", 0);
  troupe().start("expert", 1);
  const Peer experts[] = {peer_of(*agent, "expert-0"), peer_of(*agent, "expert-1")};
  for (const Peer expert : experts) {
    ASSERT_TRUE(agent->fire_and_forget(expert, "same id", {.type = "slow", .reply_to = 4711}));
  }
  for (const Peer expert : experts) {
    ASSERT_TRUE(agent->send(expert, "", {.type = "finish"}));
    auto answer = agent->request(expert, "?", patience());
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  expect_results(*agent, {"same id", "same id"});
  EXPECT_EQ(agent->counters().late_replies, 0U);
  for (const Peer expert : experts) ASSERT_TRUE(agent->send(expert, "", {.type = "stop"}));
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Each question has its own id and its own alias; nobody answers.
void ask(Agent& agent, Agent& taker, Peer to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(agent.fire_and_forget(to, "", {.reply_to = 1'000'000 + i})) << i;
    Message message = next_message(taker);
    ASSERT_TRUE(message.valid());
    message.done();
  }
}

TEST_P(FlowQuestion, TooManyOpenOnesAreRefusedUntilOneIsClosedOrItsReceiverIsDead) {
  auto agent = attach("asker");
  AttachOptions options = named("mortal");
  options.temporary = true;
  auto mortal = attach(options);
  auto silent = attach("silent");
  ASSERT_TRUE(agent && mortal && silent);
  const Peer self = peer_of(*agent, "asker");
  const Peer to = peer_of(*agent, "mortal");
  constexpr std::size_t kToTheMortal = 5;
  ASSERT_NO_FATAL_FAILURE(ask(*agent, *mortal, to, kToTheMortal));
  ASSERT_NO_FATAL_FAILURE(
      ask(*agent, *silent, peer_of(*agent, "silent"), kMostOpenQuestions - kToTheMortal - 1));

  const SendResult last = agent->fire_and_forget(self, "");
  ASSERT_TRUE(last);
  EXPECT_EQ(agent->fire_and_forget(self, "").status, SendStatus::kFull);
  ASSERT_TRUE(agent->cancel(self, last.id));
  EXPECT_TRUE(agent->fire_and_forget(self, "instead"));
  EXPECT_EQ(agent->fire_and_forget(self, "").status, SendStatus::kFull);

  Message instead = next_message(*agent);
  ASSERT_TRUE(instead.valid());
  EXPECT_EQ(instead.text(), "instead");
  EXPECT_TRUE(agent->reply(instead, "an answer"));
  instead.done();
  expect_results(*agent, {"an answer"});
  EXPECT_TRUE(agent->fire_and_forget(self, "in the place of the answered one"));

  EXPECT_EQ(mortal->detach(), 0U);
  SendStatus status = SendStatus::kFull;
  const Deadline deadline = patience();
  while (status == SendStatus::kFull && std::chrono::steady_clock::now() < deadline) {
    EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}));
    status = agent->fire_and_forget(self, "in the place of the dead").status;
  }
  EXPECT_EQ(status, SendStatus::kOk);
  while (auto message = agent->try_receive()) message->done();
  expect_balance(*agent);
}

TEST_P(FlowQuestion, TooManyRequestsThatNobodyAnswersAreRefusedUntilOneIsAnswered) {
  AttachOptions options = named("silent");
  options.inbox_capacity = 2 * kMostOpenQuestions;
  auto agent = attach("asker");
  auto silent = attach(options);
  ASSERT_TRUE(agent && silent);
  const Peer to = peer_of(*agent, "silent");
  int answers = 0;
  const auto then = [&](Result<Message> answer) {
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
    ++answers;
    agent->stop_serving();
  };
  const Deadline long_after = after(10min);  // none expires before the last one was sent
  std::vector<Message> kept;
  for (std::size_t i = 0; i < kMostOpenQuestions; ++i) {
    ASSERT_TRUE(agent->request_then(to, "?", long_after, then)) << i;
    kept.push_back(next_message(*silent));
    ASSERT_TRUE(kept.back().valid());
    kept.back().defer();
  }
  const auto refused = agent->request_then(to, "?", patience(), then);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  ASSERT_TRUE(silent->reply(kept.front(), "an answer"));
  ASSERT_TRUE(agent->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(agent->request_then(to, "?", patience(), then));
  EXPECT_FALSE(silent->receive({.timeout = 0ms, .filter = kNobody}));
  expect_balance(*agent);
}

// ---- Messages that lie aside must not fill the inbox
// ----------------------------------------------

TEST_P(FlowQuestion, ResultsThatAreGivenBackLeaveTheInboxToOthers) {
  AttachOptions options = named("asker");
  options.inbox_capacity = 64;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("expert");
  ASSERT_TRUE(board<QuestionBoard>().attached.await(1, patience()));
  const Peer expert = peer_of(*agent, "expert-0");
  constexpr std::size_t kHeld = 56;
  std::vector<Message> held;
  while (held.size() < kHeld) {
    ASSERT_TRUE(agent->fire_and_forget(expert, "?"));
    // One after the other: if more than a quarter of the inbox lay aside at once, some would become
    // dead letters.
    std::vector<Message> results;
    while (results.empty()) {
      EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = kNobody}));
      results = agent->drain_pending_results();
    }
    for (Message& result : results) held.push_back(std::move(result));
  }
  held.clear();
  const auto items = agent->inbox();
  const auto is_kept = [](const InboxItem& item) { return item.stashed; };
  EXPECT_LE(std::count_if(items.begin(), items.end(), is_kept), 16) << "a quarter of the inbox";
  ASSERT_TRUE(agent->send(expert, "job", {.type = "slow"}));
  ASSERT_TRUE(agent->send(expert, "", {.type = "finish"}));
  Message job = next_message(*agent);
  EXPECT_EQ(job.text(), "job");
  job.done();
  ASSERT_TRUE(agent->send(expert, "", {.type = "stop"}));
  troupe().wait_all(patience());
}

// ---- Requests to the dead -----------------------------------------------------------------------

constexpr std::uint32_t kBabblers = 8;

// Sends answers to no question.
BEELINE_ROLE(babbler) {
  auto& board = context.board<QuestionBoard>();
  auto agent = attach("babbler-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer asker = peer_of(*agent, "asker");
  const SendOptions options{.type = kTaskResponse, .reply_to = 12345};
  board.attached.raise();
  while (board.enough.count() == 0) {
    (void)agent->send_until(asker, "!", after(20ms), options);
  }
}

// Ends while it holds its question.
BEELINE_ROLE(mortal) {
  AttachOptions options = named("mortal");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  context.board<QuestionBoard>().attached.raise();
  const Message question = next_message(*agent);
  EXPECT_TRUE(question.valid());
}

TEST_P(FlowQuestion, HK_063_ARequestToTheDeadEndsHoweverMuchOthersSend) {
  auto& shared = board<QuestionBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < kBabblers; ++i) troupe().start("babbler", i);
  troupe().start("mortal");
  ASSERT_TRUE(shared.attached.await(kBabblers + 1, patience()));
  const auto answer = agent->request(peer_of(*agent, "mortal"), "?", patience());
  shared.enough.raise();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kPeerDeadTaken) << answer.error().text;
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
