// After poll() the descriptor becomes readable for everything new, whatever was there before: each
// wait here ends with an event, not with a time.

#include <string>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"
#include "tests/support/user_epoll.h"

namespace beeline::test {
namespace {

// Bounds a wake-up that is lost.
constexpr auto kLost = 20s;

struct ArmedBoard {
  Event attached;
  Event go;
  Event done;
  Event over;
};

class FlowArmed : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowArmed);

// Polls until nothing more is under way, then waits for the event that `cause` brings about. An
// event of before is over by then, because the descriptor is edge-triggered.
template <typename Cause>
void expect_event(Agent& agent, UserEpoll& epoll, Cause&& cause) {
  do {
    (void)agent.loop().poll();
  } while (epoll.wait(after(20ms)));
  cause();
  EXPECT_TRUE(epoll.wait(after(kLost))) << "the wake-up is lost";
}

// Answers one request at each word.
BEELINE_ROLE(answers_at_a_word) {
  auto& board = context.board<ArmedBoard>();
  auto agent = attach("clerk");
  ASSERT_TRUE(agent);
  const Peer boss = peer_of(*agent, "boss");
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  next_message(*agent).done("an answer");
  ASSERT_TRUE(board.go.await(2, patience()));
  EXPECT_TRUE(agent->send(boss, "news"));
  EXPECT_TRUE(board.over.await(1, patience())) << "its end is news too";
}

TEST_P(FlowArmed, AnAgentThatLeavesAMessageInItsInboxIsWokenForAnAnswerAndForNews) {
  auto agent = attach("boss");
  ASSERT_TRUE(agent);
  auto& shared = board<ArmedBoard>();
  troupe().start("answers_at_a_word");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer clerk = peer_of(*agent, "clerk");
  ASSERT_TRUE(agent->send("boss", "waits"));
  UserEpoll epoll(agent->fd(), true);
  int answers = 0;
  ASSERT_TRUE(agent->request_then(
      clerk, "?", patience(), [&](const Result<Message>& answer) { answers += answer ? 1 : 0; }));
  expect_event(*agent, epoll, [&] { shared.go.raise(); });
  // The poll that calls the handler arms again behind it.
  const Deadline end = patience();
  while (answers == 0 && std::chrono::steady_clock::now() < end) (void)agent->loop().poll();
  EXPECT_EQ(answers, 1);
  (void)epoll.wait(after(1ms));  // the event of the answer
  shared.go.raise();
  EXPECT_TRUE(epoll.wait(after(kLost))) << "the wake-up is lost";
  loop_until(*agent, epoll, end, [](const Readiness& found) { return found.messages == 2; });
  shared.over.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(take_texts(*agent).size(), 2U);
}

// Takes one message, whose receipt opens its link to the sender, then all at each word.
BEELINE_ROLE(takes_at_a_word) {
  auto& board = context.board<ArmedBoard>();
  auto agent = attach("slow");
  ASSERT_TRUE(agent);
  board.attached.raise();
  next_message(*agent).done();
  EXPECT_FALSE(agent->receive({.timeout = 5ms, .filter = kNobody}));
  board.done.raise();
  for (std::uint32_t round = 1; round <= 2; ++round) {
    ASSERT_TRUE(board.go.await(round, patience()));
    do {
      next_message(*agent).done();
    } while (agent->counters().queued != 0);
    EXPECT_FALSE(agent->receive({.timeout = 5ms, .filter = kNobody}));
    board.done.raise();
  }
  EXPECT_TRUE(board.over.await(1, patience())) << "its end is news too";
}

TEST_P(FlowArmed, AWishForSpaceWakesAndCountsWhatWasTakenBeforeIt) {
  AttachOptions options = named("sender");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  auto& shared = board<ArmedBoard>();
  troupe().start("takes_at_a_word");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer slow = peer_of(*agent, "slow");
  EventLoop loop = agent->loop();
  UserEpoll epoll(agent->fd(), true);
  const auto fill = [&] {
    SendResult sent;
    while ((sent = agent->send(slow, "filling"))) {
    }
    EXPECT_EQ(sent.status, SendStatus::kFull) << sent.text();
  };
  ASSERT_TRUE(agent->send(slow, "the first"));
  ASSERT_TRUE(shared.done.await(1, patience()));
  fill();
  ASSERT_TRUE(loop.want_space(slow, true));
  EXPECT_EQ(loop.poll().spaces, 0U) << "nothing was taken";
  expect_event(*agent, epoll, [&] { shared.go.raise(); });
  ASSERT_TRUE(shared.done.await(2, patience()));
  EXPECT_EQ(loop.poll().spaces, 1U);
  EXPECT_TRUE(loop.next_space());
  // The receiver takes between the send that found no room and the wish.
  fill();
  shared.go.raise();
  ASSERT_TRUE(shared.done.await(3, patience()));
  ASSERT_TRUE(loop.want_space(slow, true));
  EXPECT_EQ(loop.poll().spaces, 1U) << "it was taken before the wish";
  shared.over.raise();
  troupe().wait_all(patience());
}

TEST_P(FlowArmed, APollOfAFullInboxLeavesNothingToWakeFor) {
  AttachOptions options = named("hoarder");
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(agent->send("hoarder", "filling"));
  std::vector<Message> held;
  while (auto message = agent->try_receive()) held.push_back(std::move(*message));
  ASSERT_LT(held.size(), 16U) << "the others wait in the lane";
  UserEpoll epoll(agent->fd(), true);
  int woken = 0;
  do {
    EXPECT_EQ(agent->loop().poll().messages, 0U);
  } while (epoll.wait(after(20ms)) && ++woken < 5);
  EXPECT_LT(woken, 5) << "each poll wakes for the next one";
  held.front().done();
  EXPECT_TRUE(epoll.wait(after(kLost))) << "a place is free";
  EXPECT_TRUE(agent->try_receive());
}

}  // namespace
}  // namespace beeline::test
