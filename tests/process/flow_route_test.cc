// Who may write to whom, and what those learn who may not.

#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RouteBoard {
  Event attached;
  Event go;
};

class FlowRoute : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowRoute);

constexpr Pid kUnknown = 4242;

// A task under "lead"; its sibling is "worker" and its grandparent "king".
BEELINE_ROLE(task) {
  auto& board = context.board<RouteBoard>();
  AttachOptions options = named("task", "lead");
  options.role = "task";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  const Pid lead = agent->parent();
  const std::string own = std::to_string(agent->pid());
  const auto expect_refused = [&](Pid to) {
    const auto refused = agent->peer(to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_EQ(refused.error().text, "task (PID " + own + ") can only send to its parent (PID " +
                                        std::to_string(lead) + "), not PID " + std::to_string(to))
        << "HK-036";
  };
  Message order = next_message(*agent);
  ASSERT_TRUE(order.valid());
  expect_refused(order.from());  // a sibling may write to it and gets no answer (C-06)
  EXPECT_EQ(agent->reply(order, "an answer").status, SendStatus::kDenied);
  order.done();
  expect_refused(agent->pid());
  EXPECT_TRUE(agent->send("lead", "the result"));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(route_worker) {
  auto& board = context.board<RouteBoard>();
  AttachOptions options = named("worker", "lead");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  EXPECT_TRUE(agent->send(peer_of(*agent, "task"), "an order"));
  ASSERT_TRUE(board.go.await(2, patience())) << "it lives while the task tries to answer";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRoute, HK_036_ATaskWritesToItsParentAlone) {
  auto& shared = board<RouteBoard>();
  auto agent = attach("lead");
  ASSERT_TRUE(agent);
  troupe().start("task");
  const std::size_t worker = troupe().start("route_worker");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer to = peer_of(*agent, "worker");
  shared.go.raise();
  Message copy = next_message(*agent, {.type = "sibling_traffic:"});
  ASSERT_TRUE(copy.valid());
  EXPECT_EQ(copy.text(), "an order");
  copy.done();
  Message result = next_message(*agent);
  ASSERT_TRUE(result.valid());
  EXPECT_EQ(result.text(), "the result");
  result.done();
  shared.go.raise();
  troupe().wait(worker, patience());
  troupe().wait_all(patience());
  EXPECT_EQ(agent->counters().drained, 2U) << "HK-030: what was refused is nowhere";

  // The worker was temporary: it is dead for good (C-16, HK-039).
  EXPECT_EQ(agent->send(to, "x").status, SendStatus::kPeerDead);
  const auto dead = agent->peer(to.pid);
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().code, ErrorCode::kPeerDead);
  expect_balance(*agent);
}

TEST_P(FlowRoute, HK_030_EachRefusalSaysWhy) {
  auto agent = attach("alone");
  ASSERT_TRUE(agent);
  const auto nowhere = agent->peer(Pid{0});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().text, "no target specified");
  const auto unknown = agent->peer(kUnknown);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNoAgent);
  EXPECT_EQ(unknown.error().text, "receiver PID 4242 not found") << "C-17";
  const auto nobody = agent->peer("nobody");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kNoAgent);
  EXPECT_NE(nobody.error().text.find("nobody"), std::string::npos);
  EXPECT_EQ(agent->send("nobody", "x").status, SendStatus::kNoAgent);
  EXPECT_EQ(agent->send(Peer{}, "x").status, SendStatus::kNoRoute);
  const auto king = agent->peer(Pid{1});
  ASSERT_FALSE(king);
  EXPECT_EQ(king.error().code, ErrorCode::kDenied);
  EXPECT_EQ(agent->counters().drained, 0U);
}

}  // namespace
}  // namespace beeline::test
