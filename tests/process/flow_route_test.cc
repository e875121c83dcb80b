// The routes that are allowed, and the errors for all others.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

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
  EXPECT_EQ(dead.error().text, "receiver PID " + std::to_string(to.pid) + " is dead");
  expect_balance(*agent);
}

// Every send of it is refused, in a process of its own.
BEELINE_ROLE(refused_sender) {
  auto agent = attach("refused", "lead");
  ASSERT_TRUE(agent);
  const auto expect_text = [](const Result<Peer>& peer, ErrorCode code, const std::string& text) {
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code, code);
    EXPECT_EQ(peer.error().text, text);
  };
  expect_text(agent->peer(Pid{0}), ErrorCode::kNoRoute, "no target specified");
  for (const char* none : {"", "0"}) {
    expect_text(agent->peer(none), ErrorCode::kNoRoute, "no target specified");
    EXPECT_EQ(agent->send(none, "x").status, SendStatus::kNoRoute);
  }
  expect_text(agent->peer(kUnknown), ErrorCode::kNoAgent, "receiver PID 4242 not found");  // C-17
  const auto nobody = agent->peer("nobody");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kNoAgent);
  EXPECT_NE(nobody.error().text.find("nobody"), std::string::npos);
  EXPECT_EQ(agent->send("nobody", "x").status, SendStatus::kNoAgent);
  EXPECT_EQ(agent->send(Peer{}, "x").status, SendStatus::kNoRoute);
  // An agent that has left sends no more (C-16).
  EXPECT_EQ(agent->detach(), 0U);
  EXPECT_EQ(agent->send("lead", "x").status, SendStatus::kNoRoute);
}

TEST_P(FlowRoute, HK_030_EachRefusalSaysWhyAndNothingIsDelivered) {
  auto agent = attach("lead");
  ASSERT_TRUE(agent);
  troupe().start("refused_sender");
  troupe().wait_all(patience());
  // A sender outside of the tree has no Agent, so the test asks the coordinator in its name.
  const auto from_nobody = hive().client().route(std::to_string(kUnknown), "lead");
  ASSERT_TRUE(from_nobody) << from_nobody.error().text;
  EXPECT_FALSE(from_nobody->allowed);
  EXPECT_EQ(from_nobody->text, "sender PID 4242 not found");
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->counters().drained, 0U);
}

// ---- Tasks that lose their parent ---------------------------------------------------------------

// king - grand - lead - {task-0, task-1}; lead dies for good, and the tasks are grand's then.
struct AdoptionBoard {
  Event attached;
  Event refused;
  Event leave;
  Event adopted;
};

BEELINE_ROLE(mortal_lead) {
  auto& board = context.board<AdoptionBoard>();
  AttachOptions options = named("lead", "grand");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.leave.await(1, patience()));
  agent->detach();
}

// Number 0 writes to its new parent before it looks at anything; number 1 is silent until its new
// parent asks it.
BEELINE_ROLE(adopted_task) {
  auto& board = context.board<AdoptionBoard>();
  AttachOptions options = named("task-" + std::to_string(context.number), "lead");
  options.role = "task";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message order = next_message(*agent);
  ASSERT_TRUE(order.valid());
  EXPECT_FALSE(agent->peer(order.from())) << "HK-036";
  EXPECT_EQ(agent->reply(order, "an answer").status, SendStatus::kDenied);
  order.done();
  board.refused.raise();
  ASSERT_TRUE(board.adopted.await(1, patience()));
  if (context.number == 0) {
    EXPECT_TRUE(agent->send("grand", "the result"));
  }
  Message question = next_message(*agent);
  ASSERT_TRUE(question.valid());
  question.done("the answer");
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// The coordinator remembers the dead for a while, and no more than 256 of them.
void let_be_adopted(Agent& parent, const std::string& child) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto children = parent.children();
    ASSERT_TRUE(children) << children.error().text;
    const auto is_child = [&](const AgentInfo& info) { return info.name == child; };
    if (std::any_of(children->begin(), children->end(), is_child)) return;
    AttachOptions options = named("passer-by-" + std::to_string(i));
    options.temporary = true;
    auto passer_by = attach(options);
    ASSERT_TRUE(passer_by);
    passer_by->detach();
  }
  FAIL() << child << " was not adopted";
}

TEST_P(FlowRoute, HK_031_HK_036_ATaskWritesToItsNewParent) {
  auto& shared = board<AdoptionBoard>();
  auto agent = attach("grand");
  ASSERT_TRUE(agent);
  const std::size_t lead = troupe().start("mortal_lead");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("adopted_task", 0);
  troupe().start("adopted_task", 1);
  ASSERT_TRUE(shared.attached.await(3, patience()));
  ASSERT_TRUE(agent->send("task-0", "an order"));
  ASSERT_TRUE(agent->send("task-1", "an order"));
  ASSERT_TRUE(shared.refused.await(2, patience())) << "their links to grand are for receipts";
  kill_or_release(lead, shared.leave);
  ASSERT_NO_FATAL_FAILURE(let_be_adopted(*agent, "task-1"));
  shared.adopted.raise();
  Message result = next_message(*agent);
  ASSERT_TRUE(result.valid());
  EXPECT_EQ(result.text(), "the result");
  EXPECT_EQ(result.relation(), Relation::kChild);
  result.done();
  for (const char* task : {"task-0", "task-1"}) {
    const auto ack = agent->send_acked(peer_of(*agent, task), "well?", patience());
    ASSERT_TRUE(ack) << ack.error().text;
    EXPECT_EQ(ack->reply, "the answer");
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// ---- The agent that a route leads over, and nobody else
// -------------------------------------------

// king - lead - {left - left-leaf, right - right-leaf}; king - other - other-leaf. Each is a
// process of its own, except lead, which is the test.
struct Branch {
  const char* name;
  const char* parent;
  const char* via;  // for a message from left-leaf; empty: none
};
constexpr Branch kBranches[] = {
    {"left", "lead", ""},  {"right", "lead", "lead"},       {"right-leaf", "right", "lead"},
    {"other", "", "king"}, {"other-leaf", "other", "king"}, {"left-leaf", "left", nullptr}};
constexpr std::uint32_t kLeftLeaf = 5;

// Starts all but left-leaf, as `role`, each after its parent has attached.
void start_branches(Troupe& troupe, RouteBoard& board, const std::string& role) {
  for (std::uint32_t i = 0; i < kLeftLeaf; ++i) {
    troupe.start(role, i);
    ASSERT_TRUE(board.attached.await(i + 1, patience()));
  }
}

std::optional<Agent> attach_branch(const RoleContext& context) {
  const Branch& place = kBranches[context.number];
  auto agent = attach(place.name, place.parent);
  context.board<RouteBoard>().attached.raise();
  return agent;
}

BEELINE_ROLE(witness) {
  auto agent = attach_branch(context);
  ASSERT_TRUE(agent);
  const std::string via = kBranches[context.number].via;
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  const Pid expected = via.empty() ? 0 : via == "king" ? 1 : agent->find(via)->pid;
  EXPECT_EQ(message.via(), expected) << agent->name();
  message.done();
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->counters().drained, 1U) << agent->name() << ": direct, and once (C-05)";
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(far_sender) {
  auto agent = attach_branch(context);
  ASSERT_TRUE(agent);
  for (const Branch& to : kBranches) {
    if (to.via == nullptr) continue;
    EXPECT_TRUE(agent->send(to.name, "x"));
  }
  EXPECT_TRUE(agent->send("lead", "x"));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRoute, HK_035_TheNearestCommonAncestorIsTheOneThatTheMessageNames) {
  auto lead = attach("lead");
  ASSERT_TRUE(lead);
  ASSERT_NO_FATAL_FAILURE(start_branches(troupe(), board<RouteBoard>(), "witness"));
  troupe().start("far_sender", kLeftLeaf);
  Message message = next_message(*lead);
  ASSERT_TRUE(message.valid());
  EXPECT_EQ(message.via(), lead->pid()) << "of an agent and who stands above it: the upper one";
  message.done();
  // Asks for the route without sending a message.
  const auto via = [&](const char* from, const char* to) {
    const auto answer = hive().client().route(from, to);
    return answer ? answer->via : 0;
  };
  const Pid left = lead->find("left")->pid;
  EXPECT_EQ(via("left-leaf", "left"), left) << "NCA(child, its parent) = parent";
  EXPECT_EQ(via("left", "left-leaf"), left);
  EXPECT_EQ(via("left", "left"), left) << "NCA(x, x) = x";
  EXPECT_EQ(via("left-leaf", "right"), lead->pid());
  EXPECT_EQ(via("left-leaf", "other-leaf"), 1U);
  troupe().wait_all(patience());
  EXPECT_FALSE(lead->try_receive());
  EXPECT_EQ(lead->counters().drained, 1U) << "HK-034: the ancestor is neither asked nor told";
}

// After all messages were sent, looks whether any has come.
BEELINE_ROLE(uninvolved) {
  auto& board = context.board<RouteBoard>();
  auto agent = attach_branch(context);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(board.go.await(1, patience()));
  EXPECT_TRUE(agent->info()) << "the answer comes after the news of a link";
  EXPECT_FALSE(agent->try_receive()) << agent->name();
  EXPECT_EQ(agent->counters().drained, 0U) << agent->name();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Answers the questions, up to the one that is marked as the last.
BEELINE_ROLE(addressee) {
  auto agent = attach_branch(context);
  ASSERT_TRUE(agent);
  std::vector<std::string> texts;
  while (texts.empty() || texts.back() != "last") {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.to(), agent->pid());
    texts.emplace_back(message.text());
    if (message.type() == "question") {
      EXPECT_TRUE(agent->reply(message, "answer"));
    }
    message.done();
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (std::vector<std::string>{"a loan", "forgotten", "last", "of a thread", "order",
                                             "patient", "question", "sent", "then"}));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRoute, HK_041_NoCallDeliversToAnAgentThatWasNotNamed) {
  auto& shared = board<RouteBoard>();
  auto lead = attach("lead");
  ASSERT_TRUE(lead);
  ASSERT_NO_FATAL_FAILURE(start_branches(troupe(), shared, "uninvolved"));
  troupe().start("addressee", kLeftLeaf);
  ASSERT_TRUE(shared.attached.await(kLeftLeaf + 1, patience()));
  const Peer to = peer_of(*lead, "left-leaf");
  EXPECT_TRUE(lead->send(to, "sent"));
  EXPECT_TRUE(lead->send_until(to, "patient", patience()));
  auto loan = lead->loan(to, 6);
  ASSERT_TRUE(loan) << loan.error().text;
  std::memcpy(loan->bytes().data(), "a loan", 6);
  EXPECT_TRUE(lead->send(*loan));
  SharedSender sender = lead->shared_sender();
  EXPECT_TRUE(sender.send(to, "of a thread"));
  EXPECT_TRUE(lead->send_control(to, kSteerOrder, "order"));
  EXPECT_TRUE(lead->cancel(to, 4711));
  EXPECT_TRUE(lead->fire_and_forget(to, "forgotten"));
  const auto then = [&](Result<Message> answer) {
    EXPECT_TRUE(answer) << answer.error().text;
    answer->done();
    lead->stop_serving();
  };
  EXPECT_TRUE(lead->request_then(to, "then", patience(), then, {.type = "question"}));
  EXPECT_TRUE(lead->serve([](Message&) { return Ack{}; }, {.until = patience()}));
  auto answer = lead->request(to, "question", patience(), {.type = "question"});
  ASSERT_TRUE(answer) << answer.error().text;
  answer->done();
  EXPECT_TRUE(lead->send(to, "last", {.rank = kLow}));
  shared.go.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(lead->counters().drained, 2U) << "the two answers";
}

}  // namespace
}  // namespace beeline::test
