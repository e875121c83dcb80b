// The calls that need the coordinator, in two steps: attach, peers, lists, detach.

#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <beeline/attaching.h>

#include "tests/support/hive_test.h"
#include "tests/support/user_epoll.h"

namespace beeline::test {
namespace {

struct StepsBoard {
  Event go;
  Event stop;
};

class FlowSteps : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowSteps);

// Attaches when it is told to, and answers until it is stopped.
BEELINE_ROLE(comes_later) {
  auto& board = context.board<StepsBoard>();
  ASSERT_TRUE(board.go.await(1, patience()));
  auto agent = attach("later");
  ASSERT_TRUE(agent);
  EXPECT_TRUE(agent->serve(
      [&](Message& message) {
        if (message.text() == "stop") agent->stop_serving();
        return Ack{AckStatus::kAccepted, "here"};
      },
      {.until = patience()}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

Result<Peer> fetch_peer(Agent& agent, UserEpoll& epoll, CallId call) {
  loop_until(agent, epoll, [](const Readiness& found) { return found.peers != 0; });
  auto found = agent.loop().next_peer();
  EXPECT_TRUE(found && found->call == call);
  return found ? std::move(found->peer) : fail(ErrorCode::kTimeout, "no peer");
}

TEST_P(FlowSteps, APeerIsFoundInTwoStepsAlsoBeforeItIsThere) {
  auto agent = attach("seeker");
  ASSERT_TRUE(agent);
  troupe().start("comes_later");
  EventLoop loop = agent->loop();
  UserEpoll epoll(agent->fd(), true);
  const auto call = loop.find_peer("later", patience());
  ASSERT_TRUE(call) << call.error().text;
  EXPECT_EQ(loop.poll().peers, 0U);
  EXPECT_FALSE(loop.next_peer());
  board<StepsBoard>().go.raise();
  const auto peer = fetch_peer(*agent, epoll, *call);
  ASSERT_TRUE(peer) << peer.error().text;
  const auto asked = loop.request(*peer, "?", patience());
  ASSERT_TRUE(asked);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.answers == 1; });
  const auto answered = loop.next_answer();
  EXPECT_TRUE(answered->answer && answered->answer->text() == "here");
  const auto again = loop.find_peer(peer->pid);
  ASSERT_TRUE(again);
  EXPECT_EQ(fetch_peer(*agent, epoll, *again)->slot, peer->slot) << "the link is open";
  EXPECT_TRUE(agent->send(*peer, "stop"));
  troupe().wait_all(patience());
}

TEST_P(FlowSteps, APeerThatIsNotFoundIsAnErrorAtTheDeadline) {
  auto agent = attach("seeker");
  ASSERT_TRUE(agent);
  EventLoop loop = agent->loop();
  UserEpoll epoll(agent->fd(), false);
  EXPECT_EQ(loop.find_peer("queue:x").error().code, ErrorCode::kNoRoute);
  EXPECT_EQ(loop.find_peer("\xff").error().code, ErrorCode::kInvalid);
  const auto number = loop.find_peer(777777, patience());
  const auto given_up = loop.find_peer("later", patience());
  ASSERT_TRUE(number && given_up);
  EXPECT_TRUE(loop.forget_call(*given_up));
  EXPECT_FALSE(loop.forget_call(*given_up));
  EXPECT_EQ(fetch_peer(*agent, epoll, *number).error().code, ErrorCode::kNoAgent)
      << "a pid is never given out again";
  const auto nobody = loop.find_peer("nobody", after(5ms));
  ASSERT_TRUE(nobody);
  EXPECT_EQ(fetch_peer(*agent, epoll, *nobody).error().code, ErrorCode::kNoAgent);
  for (std::size_t i = 0; i < kMostOpenCalls; ++i) ASSERT_TRUE(loop.find_peer("x", patience()));
  EXPECT_EQ(loop.find_peer("x").error().code, ErrorCode::kFull);
  agent->detach();
  EXPECT_EQ(loop.find_peer("x").error().code, ErrorCode::kClosed);
}

TEST_P(FlowSteps, ARuleForbidsAPeerAndSaysSo) {
  auto parent = attach("parent");
  AttachOptions options = named("task", "parent");
  options.role = "task";
  auto task = attach(options);
  auto other = attach("other");
  ASSERT_TRUE(parent && task && other);
  UserEpoll epoll(task->fd(), false);
  const auto call = task->loop().find_peer("other");
  ASSERT_TRUE(call);
  const auto peer = fetch_peer(*task, epoll, *call);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().code, ErrorCode::kDenied) << peer.error().text;
  EXPECT_NE(peer.error().text.find("can only send to its parent"), std::string::npos);
}

TEST_P(FlowSteps, TheAgentsOfTheHiveAreListedInTwoSteps) {
  auto agent = attach("seeker");
  ASSERT_TRUE(agent);
  std::vector<Agent> children;
  for (int i = 0; i < 70; ++i) {
    auto child = attach("child-" + std::to_string(i), "seeker");
    ASSERT_TRUE(child);
    children.push_back(std::move(*child));
  }
  UserEpoll epoll(agent->fd(), true);
  const auto call = agent->loop().list_agents();
  ASSERT_TRUE(call);
  loop_until(*agent, epoll, [](const Readiness& found) { return found.lists == 1; });
  const auto listed = agent->loop().next_list();
  ASSERT_TRUE(listed && listed->agents);
  EXPECT_EQ(listed->call, *call);
  const auto of_ours = [&](const AgentInfo& info) { return info.parent == agent->pid(); };
  EXPECT_EQ(std::count_if(listed->agents->begin(), listed->agents->end(), of_ours), 70);
  const AgentInfo* child = find_agent(*listed->agents, children.at(5).name());
  ASSERT_NE(child, nullptr);
  EXPECT_EQ(child->pid, children.at(5).pid());
  EXPECT_EQ(find_agent(*listed->agents, std::to_string(child->pid)), child);
  EXPECT_EQ(find_agent(*listed->agents, "nobody"), nullptr);
}

TEST_P(FlowSteps, ACoordinatorThatIsKilledMeanwhileIsAskedAgain) {
  auto agent = attach("seeker");
  auto friendly = attach("friend");
  ASSERT_TRUE(agent && friendly);
  EventLoop loop = agent->loop();
  UserEpoll epoll(agent->fd(), true);
  (void)loop.poll();
  const pid_t coordinator = hive().coordinator();
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  const auto peer = loop.find_peer("friend", patience());
  const auto list = loop.list_agents();
  ASSERT_TRUE(peer && list);
  const Readiness before = loop.poll();
  EXPECT_EQ(before.peers + before.lists, 0U) << "it is stopped";
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  loop_until(*agent, epoll, [&](const Readiness& found) {
    (void)friendly->loop().poll();  // registers again too
    return found.peers == 1 && found.lists == 1;
  });
  const auto found = loop.next_peer();
  EXPECT_TRUE(found->peer) << found->peer.error().text;
  const auto listed = loop.next_list();
  EXPECT_TRUE(listed->agents) << listed->agents.error().text;
}

// ---- Attach and detach --------------------------------------------------------------------------

TEST_P(FlowSteps, AnAgentAttachesInTwoSteps) {
  for (const bool edge : {false, true}) {
    auto attaching = Attaching::start(named("two-steps"));
    ASSERT_TRUE(attaching) << attaching.error().text;
    UserEpoll epoll(attaching->fd(), edge);
    ASSERT_TRUE(epoll.wait(patience()));
    auto agent = attaching->finish();
    ASSERT_TRUE(agent) << agent.error().text;
    EXPECT_EQ(attaching->finish().error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(agent->send("two-steps", "to itself"));
    EXPECT_EQ(next_message(*agent).text(), "to itself");
  }
}

TEST_P(FlowSteps, AnAttachThatFailsSaysSoInItsSecondStep) {
  auto attaching = Attaching::start(named("child", "nobody"));
  ASSERT_TRUE(attaching);
  const auto agent = attaching->finish();
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().code, ErrorCode::kNoAgent) << agent.error().text;
}

TEST_P(FlowSteps, AnAttachThatIsGivenUpLeavesTheName) {
  { auto attaching = Attaching::start(named("given-up")); }
  auto agent = attach_again(named("given-up"));
  EXPECT_TRUE(agent);
}

TEST_P(FlowSteps, ADetachInStepsWaitsForItsReceivers) {
  troupe().start("comes_later");
  board<StepsBoard>().go.raise();
  for (const bool edge : {false, true}) {
    auto agent = attach("leaver");
    ASSERT_TRUE(agent);
    const Peer later = peer_of(*agent, "later");
    ASSERT_TRUE(agent->send(later, "last words"));
    EventLoop loop = agent->loop();
    UserEpoll epoll(agent->fd(), edge);
    EXPECT_FALSE(loop.left_behind());
    loop.start_detach(patience());
    loop_until(*agent, epoll, [](const Readiness& found) { return found.ended; });
    EXPECT_EQ(loop.left_behind(), 0U);
    EXPECT_EQ(agent->send(later, "?").status, SendStatus::kNoRoute);
    EXPECT_TRUE(attach("leaver")) << "the name is free";
  }
  auto agent = attach("stopper");
  ASSERT_TRUE(agent);
  EXPECT_TRUE(agent->send("later", "stop"));
  troupe().wait_all(patience());
}

TEST_P(FlowSteps, ADetachInStepsCountsTheMessagesThatNobodyHasTaken) {
  auto agent = attach("leaver");
  auto slow = attach("slow");
  ASSERT_TRUE(agent && slow);
  const Peer to = peer_of(*agent, "slow");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(agent->send(to, "not taken"));
  UserEpoll epoll(agent->fd(), true);
  agent->loop().start_detach(after(2ms));
  loop_until(*agent, epoll, [](const Readiness& found) { return found.ended; });
  EXPECT_EQ(agent->loop().left_behind(), 3U);
}

}  // namespace
}  // namespace beeline::test
