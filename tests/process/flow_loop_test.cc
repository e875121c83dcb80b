// A loop of the user's own: answers by token, looks that take nothing, and the wish for space.

#include <optional>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"
#include "tests/support/user_epoll.h"

namespace beeline::test {
namespace {

struct LoopBoard {
  Event attached;
  Event go;
  Event filled;
  Event again;
};

class FlowLoop : public HiveTest {
 protected:
  Peer start_clerk(Agent& agent) {
    troupe().start("answers");
    EXPECT_TRUE(board<LoopBoard>().attached.await(1, patience()));
    return peer_of(agent, "clerk");
  }
};
BEELINE_BOTH_WORLDS(FlowLoop);

// Answers so many requests, each with its own text, and the text "no" with no answer.
BEELINE_ROLE(answers) {
  auto& board = context.board<LoopBoard>();
  auto agent = attach("clerk");
  ASSERT_TRUE(agent);
  board.attached.raise();
  const auto served = agent->serve(
      [&](Message& message) {
        if (message.text() == "stop") agent->stop_serving();
        if (message.text() == "keep") {
          EXPECT_TRUE(board.go.await(1, patience()));
          return Ack{AckStatus::kAccepted, "kept"};
        }
        if (message.text() == "no") return Ack{};
        return Ack{AckStatus::kAccepted, std::string(message.text())};
      },
      {.until = patience()});
  EXPECT_TRUE(served);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowLoop, AnswersAreFetchedByTheIdOfTheirRequest) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  const Peer clerk = start_clerk(*agent);
  EventLoop loop = agent->loop();
  for (const bool edge : {false, true}) {
    UserEpoll epoll(agent->fd(), edge);
    std::vector<MessageId> ids;
    for (const char* text : {"one", "no", "three"}) {
      const auto id = loop.request(clerk, text, patience());
      ASSERT_TRUE(id) << id.error().text;
      ids.push_back(*id);
    }
    loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 3; });
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto answered = loop.next_answer();
      ASSERT_TRUE(answered);
      EXPECT_EQ(answered->id, ids[i]) << "they come in the order of the answers";
      if (i == 1) {
        EXPECT_EQ(answered->answer.error().code, ErrorCode::kUnanswered);
        continue;
      }
      ASSERT_TRUE(answered->answer) << answered->answer.error().text;
      EXPECT_EQ(answered->answer->text(), i == 0 ? "one" : "three");
      EXPECT_EQ(answered->answer->reply_to(), ids[i]);
    }
    EXPECT_FALSE(loop.next_answer());
    EXPECT_EQ(agent->counters().leased, 0U);
  }
  ASSERT_TRUE(agent->send(clerk, "stop"));
  troupe().wait_all(patience());
}

TEST_P(FlowLoop, ARequestThatIsGivenUpHasNoAnswer) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  const Peer clerk = start_clerk(*agent);
  EventLoop loop = agent->loop();
  UserEpoll epoll(agent->fd(), true);
  const auto kept = loop.request(clerk, "keep", patience());
  const auto behind = loop.request(clerk, "?", patience(), {.cancel_on_timeout = true});
  const auto late = loop.request(clerk, "late", after(1ms));
  const auto handled =
      agent->request_then(clerk, "handled", patience(), [](const Result<Message>&) {});
  ASSERT_TRUE(kept && behind && late && handled);
  EXPECT_TRUE(loop.forget(*kept));
  EXPECT_FALSE(loop.forget(*kept)) << "once";
  EXPECT_TRUE(loop.forget(*behind));
  EXPECT_FALSE(loop.forget(*handled)) << "its handler is called";
  loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 1; });
  const auto answered = loop.next_answer();
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->id, *late);
  EXPECT_EQ(answered->answer.error().code, ErrorCode::kTimeout);
  board<LoopBoard>().go.raise();
  const auto last = loop.request(clerk, "last", patience());
  ASSERT_TRUE(last);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 1; });
  EXPECT_TRUE(loop.forget(*last)) << "an answer that nobody fetched";
  EXPECT_FALSE(loop.next_answer());
  EXPECT_EQ(agent->counters().leased, 0U);
  ASSERT_TRUE(agent->send(clerk, "stop"));
  troupe().wait_all(patience());
  for (const Message& message : agent->drain_pending_results()) {
    EXPECT_NE(message.text(), "?") << "it was taken back";
  }
  expect_balance(*agent);
}

TEST_P(FlowLoop, AnAgentThatLeavesEndsTheAnswersThatItHasNotFetched) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("answers");
  ASSERT_TRUE(board<LoopBoard>().attached.await(1, patience()));
  UserEpoll epoll(agent->fd(), false);
  ASSERT_TRUE(agent->loop().request("clerk", "?", patience()));
  ASSERT_TRUE(agent->send("clerk", "stop"));
  loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 1; });
  agent.reset();
  agent = attach("boss");
  ASSERT_TRUE(agent);
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->counters().dead, 0U);
  troupe().wait_all(patience());
}

// Sends two messages, and answers one request after the other.
BEELINE_ROLE(sends_and_answers) {
  auto& board = context.board<LoopBoard>();
  auto agent = attach("clerk");
  ASSERT_TRUE(agent);
  const Peer boss = peer_of(*agent, "boss");
  board.attached.raise();
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(agent->send(boss, "one"));
    EXPECT_TRUE(agent->send(boss, "two"));
    board.filled.raise();
    EXPECT_TRUE(board.go.await(round + 1, patience()));
    next_message(*agent).done("an answer");
    EXPECT_TRUE(board.again.await(round + 1, patience()));
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// The agent handles one message at a time, and waits for an answer before it takes the next one.
TEST_P(FlowLoop, AnAgentAtItsLimitIsWokenForAnswersWhileMessagesWait) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  troupe().start("sends_and_answers");
  const Peer clerk = peer_of(*agent, "clerk");
  for (const bool edge : {false, true}) {
    UserEpoll epoll(agent->fd(), edge);
    ASSERT_TRUE(board<LoopBoard>().filled.await(edge ? 2 : 1, patience()));
    loop_until(*agent, epoll, [](const Readiness& found) { return found.messages == 2; });
    auto held = agent->try_receive();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->text(), "one");
    bool answered = false;
    const auto then = [&](const Result<Message>& answer) {
      EXPECT_TRUE(answer && answer->text() == "an answer");
      answered = true;
    };
    ASSERT_TRUE(agent->request_then(clerk, "?", patience(), then));
    Readiness found = agent->loop().poll();
    EXPECT_EQ(found.messages, 1U) << "one that was there is in each report";
    EXPECT_FALSE(epoll.wait(after(2ms)) && agent->loop().poll().answers != 0);
    board<LoopBoard>().go.raise();
    ASSERT_NO_FATAL_FAILURE(loop_until(*agent, epoll, [&](const Readiness&) { return answered; }));
    EXPECT_EQ(agent->loop().poll().messages, 1U);
    held->done();
    next_message(*agent).done();
    EXPECT_EQ(agent->loop().poll().messages, 0U);
    board<LoopBoard>().again.raise();
  }
  troupe().wait_all(patience());
}

TEST_P(FlowLoop, APollSaysWhenItIsToBeCalledAgainAndWhenTheLifeHasEnded) {
  auto agent = attach("boss");
  auto child = attach("child", "boss");
  ASSERT_TRUE(agent && child);
  EventLoop loop = agent->loop();
  const Peer to = peer_of(*agent, "child");
  const Deadline soon = after(30ms);
  ASSERT_TRUE(loop.request(to, "?", soon));
  const Readiness before = loop.poll();
  EXPECT_TRUE(before.next <= soon || before.answers == 1) << "or it is over on a slow machine";
  child.reset();
  UserEpoll epoll(agent->fd(), true);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.notices; });
  EXPECT_TRUE(agent->next_notice());
  EXPECT_FALSE(loop.poll().notices);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 1; });
  EXPECT_FALSE(loop.next_answer()->answer);
  EXPECT_FALSE(loop.poll().ended);
  agent->detach();
  EXPECT_TRUE(loop.poll().ended);
}

// ---- Space ----------------------------------------------------------------------------------

// Takes nothing until it is told to, then all that is there. It may still take while the next round
// is sent, so it waits for no message.
BEELINE_ROLE(slow) {
  auto& board = context.board<LoopBoard>();
  auto agent = attach("slow");
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (std::uint32_t round = 1; round <= 4; ++round) {
    ASSERT_TRUE(board.go.await(round, patience()));
    while (auto message = agent->try_receive()) message->done();
  }
  ASSERT_TRUE(board.go.await(5, patience()));
  while (auto message = agent->try_receive()) message->done();
}

TEST_P(FlowLoop, AWishForSpaceComesTrueOnceThePeerHasTakenSomething) {
  AttachOptions options = named("sender");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("slow");
  const Peer slow = peer_of(*agent, "slow");
  EventLoop loop = agent->loop();
  EXPECT_FALSE(loop.want_space(Peer{}, true));
  std::uint32_t round = 0;
  for (const std::string& text : {std::string("small"), std::string(100'000, 'x')}) {
    for (const bool edge : {false, true}) {
      UserEpoll epoll(agent->fd(), edge);
      SendResult sent;
      while ((sent = agent->send(slow, text))) {
      }
      ASSERT_EQ(sent.status, SendStatus::kFull) << sent.text();
      ASSERT_TRUE(loop.want_space(slow, true));
      // Later it may still take what it was told to take before.
      if (round == 0) {
        EXPECT_EQ(loop.poll().spaces, 0U) << "it has taken nothing";
      }
      ASSERT_TRUE(loop.want_space(slow, false));
      ASSERT_TRUE(loop.want_space(slow, true)) << "a wish can be withdrawn and made again";
      board<LoopBoard>().go.raise();
      ++round;
      while (!(sent = agent->send(slow, text))) {
        ASSERT_EQ(sent.status, SendStatus::kFull);
        ASSERT_TRUE(loop.want_space(slow, true));
        ASSERT_NO_FATAL_FAILURE(
            loop_until(*agent, epoll, [](const Readiness& found) { return found.spaces == 1; }));
        EXPECT_EQ(loop.next_space()->pid, slow.pid);
        EXPECT_FALSE(loop.next_space());
        EXPECT_EQ(loop.poll().spaces, 0U) << "once";
      }
      ASSERT_TRUE(loop.want_space(slow, false));
    }
  }
  EXPECT_EQ(round, 4U);
  board<LoopBoard>().go.raise();
  troupe().wait_all(patience());
}

TEST_P(FlowLoop, AWishForATokenComesTrueInTime) {
  AttachOptions options = named("sender");
  options.send_rate = 50;
  options.send_burst = 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  auto other = attach("other");
  ASSERT_TRUE(other);
  const Peer to = peer_of(*agent, "other");
  while (agent->send(to, "?")) {
  }
  ASSERT_EQ(agent->send(to, "?").status, SendStatus::kRateLimited);
  ASSERT_TRUE(agent->loop().want_space(to, true));
  UserEpoll epoll(agent->fd(), true);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.spaces == 1; });
  EXPECT_TRUE(agent->send(to, "?"));
}

TEST_P(FlowLoop, AWishForSpaceNamesAPeerThatHasDied) {
  AttachOptions options = named("sender");
  options.normal_slots = 8;
  auto agent = attach(options);
  AttachOptions of_other = named("other");
  of_other.temporary = true;
  auto other = attach(of_other);
  ASSERT_TRUE(agent && other);
  const Peer to = peer_of(*agent, "other");
  while (agent->send(to, "?")) {
  }
  UserEpoll epoll(agent->fd(), true);
  ASSERT_TRUE(agent->loop().want_space(to, true));
  EXPECT_EQ(agent->loop().poll().spaces, 0U);
  other.reset();
  loop_until(*agent, epoll, [](const Readiness& found) { return found.spaces == 1; });
  EXPECT_EQ(agent->send(to, "?").status, SendStatus::kPeerDead);
}

}  // namespace
}  // namespace beeline::test
