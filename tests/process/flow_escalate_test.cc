// Escalations: the agent that takes one if the next above is dead or passes it on.

#include <string>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct EscalateBoard {
  Event attached;
  Event go;
  Event sent;
  Event leave;
};

class FlowEscalate : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowEscalate);

// king - top - middle - bottom. The test is "top".
constexpr const char* kIssue = "nobody here knows what to do";

// Ends for good when the test says so.
BEELINE_ROLE(mortal_middle) {
  auto& board = context.board<EscalateBoard>();
  AttachOptions options = named("middle", "top");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
}

// Is killed or leaves; its name is kept for a next life.
BEELINE_ROLE(zombie_middle) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach("middle", "top");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.leave.await(1, patience()));
}

// Escalates when the test says so: by itself, and from a handler.
BEELINE_ROLE(bottom) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach("bottom", "middle");
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(2, patience()));
  EXPECT_TRUE(agent->escalate(kIssue, {.rank = kLow}));
  EXPECT_TRUE(agent->escalate("worse", {.rank = kCritical}));
  board.sent.raise();
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1, .filter = {.type = "too hard"}});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

void expect_escalation(Agent& agent, std::string_view text, std::int32_t rank) {
  Message issue = next_message(agent);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), text);
  EXPECT_EQ(issue.rank(), rank);
  EXPECT_EQ(to_string(issue.relation()), "other") << "it comes from below the next";
  issue.done();
}

// The middle is finally dead, and the bottom was told to escalate.
void bury_middle(Agent& top, EscalateBoard& board, Troupe& troupe, std::size_t middle) {
  const Pid pid = peer_of(top, "middle").pid;
  board.go.raise();
  troupe.wait(middle, patience());
  ASSERT_NO_FATAL_FAILURE(drain_until(top, [&] { return top.info(pid)->state == State::kDead; }));
  board.go.raise();
}

TEST_P(FlowEscalate, C_02_AnEscalationClimbsPastADeadAncestor) {
  auto& shared = board<EscalateBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  const std::size_t middle = troupe().start("mortal_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("bottom");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer bottom = peer_of(*top, "bottom");
  ASSERT_NO_FATAL_FAILURE(bury_middle(*top, shared, troupe(), middle));
  ASSERT_TRUE(shared.sent.await(1, patience()));
  ASSERT_NO_FATAL_FAILURE(await_queued(*top, 2));
  expect_escalation(*top, "worse", kCritical);
  expect_escalation(*top, kIssue, kHigh);
  // C-08: an escalation of its handler climbs the same way.
  const auto ack = top->send_acked(bottom, "do it", patience(), {.type = "too hard"});
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  expect_escalation(*top, "do it", kHigh);
  troupe().wait_all(patience());
  expect_balance(*top);
}

TEST_P(FlowEscalate, C_02_AnEscalationClimbsPastAZombie) {
  auto& shared = board<EscalateBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  const std::size_t middle = troupe().start("zombie_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("bottom");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer bottom = peer_of(*top, "bottom");
  const Pid pid = peer_of(*top, "middle").pid;
  kill_or_release(middle, shared.leave);
  const auto is_away = [&] { return top->info(pid)->state == State::kZombie; };
  ASSERT_NO_FATAL_FAILURE(drain_until(*top, is_away));
  shared.go.raise(2);
  ASSERT_TRUE(shared.sent.await(1, patience()));
  EXPECT_EQ(top->inbox().size(), 2U) << "of itself";
  const auto ack = top->send_acked(bottom, "do it", patience(), {.type = "too hard"});
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_EQ(take_texts(*top), (std::vector<std::string>{"worse", kIssue, "do it"}));
  // A living agent is the nearest again.
  auto next_life = attach_again(named("middle", "top"));
  ASSERT_TRUE(next_life);
  EXPECT_TRUE(next_life->inbox().empty());
  troupe().wait_all(patience());
  expect_balance(*top);
}

TEST_P(FlowEscalate, C_02_WithEverybodyAboveDeadTheCoordinatorWritesItDown) {
  auto& shared = board<EscalateBoard>();
  AttachOptions options = named("top");
  options.temporary = true;
  auto top = attach(options);
  ASSERT_TRUE(top);
  const std::size_t middle = troupe().start("mortal_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("bottom");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Pid pid = top->pid();
  top.reset();
  auto watcher = attach("watcher");
  ASSERT_TRUE(watcher);
  const Peer bottom = peer_of(*watcher, "bottom");
  ASSERT_EQ(watcher->info(pid)->state, State::kDead);
  ASSERT_NO_FATAL_FAILURE(bury_middle(*watcher, shared, troupe(), middle));
  ASSERT_TRUE(shared.sent.await(1, patience()));
  for (const char* text : {kIssue, "worse"}) {
    EXPECT_NE(hive().log().find(text), std::string::npos) << text;
  }
  const auto ack = watcher->send_acked(bottom, "do it", patience(), {.type = "too hard"});
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_NE(hive().log().find("do it"), std::string::npos);
  troupe().wait_all(patience());
  EXPECT_EQ(watcher->counters().drained, 1U) << "the acknowledgement: nobody else was told";
}

// Passes one escalation on.
BEELINE_ROLE(escalating_middle) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach("middle", "top");
  ASSERT_TRUE(agent);
  board.attached.raise();
  const auto pass_on = [](Message& message) {
    EXPECT_EQ(message.type(), kEscalation);
    EXPECT_EQ(to_string(message.relation()), "child");
    return Ack{AckStatus::kEscalate, {}};
  };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().done, 1U);
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

BEELINE_ROLE(escalating_bottom) {
  auto agent = attach("bottom", "middle");
  ASSERT_TRUE(agent);
  const SendResult sent =
      agent->escalate(kIssue, {.rank = kLow, .reply_to = 4711, .requires_ack = true});
  ASSERT_TRUE(sent);
  const auto ack = agent->await_ack(peer_of(*agent, "middle"), sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate) << "C-08: it learns who did not solve it";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowEscalate, C_02_AnEscalationClimbsPastAnAgentThatEscalatesItItself) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("escalating_middle");
  ASSERT_TRUE(board<EscalateBoard>().attached.await(1, patience()));
  troupe().start("escalating_bottom");
  const auto pass_on = [&](Message& message) {
    EXPECT_EQ(message.from(), peer_of(*top, "middle").pid);
    EXPECT_EQ(message.type(), kEscalation);
    EXPECT_EQ(message.text(), kIssue);
    EXPECT_EQ(message.rank(), kHigh);
    EXPECT_EQ(message.reply_to(), 4711U);
    EXPECT_EQ(message.hops(), 0U);
    EXPECT_EQ(hive().log().find(kIssue), std::string::npos);
    return Ack{AckStatus::kEscalate, {}};
  };
  const auto served = top->serve(pass_on, {.most = 1});
  ASSERT_TRUE(served) << served.error().text;
  EXPECT_EQ(*served, 1U);
  EXPECT_NE(hive().log().find(kIssue), std::string::npos) << "above the top is the coordinator";
  EXPECT_FALSE(top->try_receive());
  troupe().wait_all(patience());
  expect_balance(*top);
}

}  // namespace
}  // namespace beeline::test
