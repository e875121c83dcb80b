// Escalations: who takes them when the next above is dead or hands them on.

#include <sys/resource.h>

#include <string>
#include <utility>
#include <vector>

#include "src/control/log_gate.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct EscalateBoard {
  Event attached;
  Event go;
  Event sent;
};

class FlowEscalate : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowEscalate);

// king - top - middle - bottom. The test is "top".
constexpr const char* kIssue = "nobody here knows what to do";

// Ends for good when it is told to.
BEELINE_ROLE(mortal_middle) {
  auto& board = context.board<EscalateBoard>();
  AttachOptions options = named("middle", "top");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
}

// Escalates when it is told to, of itself and what it handles.
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

// The middle is finally dead, and the bottom has been told to escalate.
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
  // C-08: and what its handler hands on climbs the same way.
  const auto ack = top->send_acked(bottom, "do it", patience(), {.type = "too hard"});
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  expect_escalation(*top, "do it", kHigh);
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

// Hands on one escalation.
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

TEST_P(FlowEscalate, C_02_AnEscalationClimbsPastWhoEscalatesItHimself) {
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

// ---- What finds no room above -------------------------------------------------------------------

constexpr std::size_t kCutTo = 64 << 10;

// The middle, with so many messages of the top and no room in its lane to it.
std::optional<Agent> attach_choked(std::uint64_t messages) {
  AttachOptions options = named("middle", "top");
  options.normal_slots = 8;
  options.max_payload_bytes = kCutTo;
  auto agent = attach(options);
  if (!agent) return agent;
  await_queued(*agent, messages);
  if (testing::Test::HasFatalFailure()) return std::nullopt;
  const Peer top = peer_of(*agent, "top");
  while (agent->send(top, "data")) {
  }
  return agent;
}

// Leaves no room in its lane to the top, and then hands on what it is sent.
BEELINE_ROLE(choked_middle) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach_choked(1);
  ASSERT_TRUE(agent);
  int calls = 0;
  const auto pass_on = [&](Message&) { return ++calls, Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().leased, 1U);
  EXPECT_EQ(agent->counters().requeued, 0U) << "a full lane above is no failed attempt";
  board.sent.raise();
  EXPECT_TRUE(agent->serve(pass_on, {.until = after(1ms)}));
  EXPECT_EQ(agent->detach(patience()), 0U) << "it waits for what is owed";
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(agent->counters().done, 1U);
  expect_balance(*agent);
}

TEST_P(FlowEscalate, C_08_WhatFindsNoRoomAboveIsOwedAndWhatIsTooLongIsCut) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("choked_middle");
  const Peer middle = peer_of(*top, "middle");
  const std::string hard(kCutTo + 1000, 'x');
  const SendResult sent = top->send(middle, hard, {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(board<EscalateBoard>().sent.await(1, patience()));
  const auto ack = top->await_ack(middle, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  Message issue = next_message(*top, {.type = kEscalation});
  ASSERT_TRUE(issue.valid());
  EXPECT_TRUE(issue.is_cut());
  EXPECT_EQ(issue.text(), hard.substr(0, kCutTo));
  EXPECT_EQ(issue.full_length(), hard.size());
  issue.done();
  while (auto data = top->try_receive()) data->done();
  troupe().wait_all(patience());
  expect_balance(*top);
}

// Leaves no room in its lane to the top, and has some again before it hands on the second.
BEELINE_ROLE(relieved_middle) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach_choked(2);
  ASSERT_TRUE(agent);
  int calls = 0;
  const auto pass_on = [&](Message&) {
    if (++calls == 2) {
      board.sent.raise();
      EXPECT_TRUE(board.go.await(1, patience()));
    }
    return Ack{AckStatus::kEscalate, {}};
  };
  const auto served = agent->serve(pass_on, {.most = 2});
  EXPECT_TRUE(served && *served == 2);
  EXPECT_EQ(agent->detach(patience()), 0U);
  EXPECT_EQ(agent->counters().requeued, 0U);
  EXPECT_EQ(agent->counters().done, 2U);
  expect_balance(*agent);
}

TEST_P(FlowEscalate, C_08_WhatGoesUpOvertakesNothingThatIsOwedThere) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("relieved_middle");
  const Peer middle = peer_of(*top, "middle");
  for (const char* text : {"first", "second"}) ASSERT_TRUE(top->send(middle, text));
  auto& shared = board<EscalateBoard>();
  ASSERT_TRUE(shared.sent.await(1, patience()));
  ASSERT_NO_FATAL_FAILURE(await_drained(*top, 8));
  shared.go.raise();
  for (const char* text : {"first", "second"}) {
    Message issue = next_message(*top, {.type = kEscalation});
    ASSERT_TRUE(issue.valid());
    EXPECT_EQ(issue.text(), text);
    issue.done();
  }
  while (auto data = top->try_receive()) data->done();
  troupe().wait_all(patience());
  expect_balance(*top);
}

TEST_P(FlowEscalate, C_08_WhatTheCoordinatorDoesNotLogNowIsOwedToIt) {
  constexpr std::size_t kLogged = control::LogGate::kEscalations.agent.burst;
  constexpr std::size_t kAll = kLogged + 10;
  auto top = attach("top");
  auto asker = attach("asker");
  ASSERT_TRUE(top && asker);
  const Peer to = peer_of(*asker, "top");
  std::vector<SendResult> sent;
  for (std::size_t i = 0; i < kAll; ++i) {
    sent.push_back(asker->send(to, "issue " + std::to_string(i), {.requires_ack = true}));
    ASSERT_TRUE(sent.back());
  }
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = top->serve(pass_on, {.most = kAll});
  ASSERT_TRUE(served && *served == kAll);
  ASSERT_LT(top->counters().done, kAll) << "more than the coordinator writes down at once";
  ASSERT_EQ(top->counters().requeued, 0U) << "that is no failed attempt";
  ASSERT_NO_FATAL_FAILURE(drain_until(*top, [&] { return top->counters().done > kLogged; }));
  EXPECT_NE(hive().log().find("issue " + std::to_string(kLogged)), std::string::npos);
  const auto ack = asker->await_ack(to, sent[kLogged].id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_EQ(top->counters().done + top->counters().leased, kAll);
  EXPECT_EQ(top->counters().requeued, 0U);
  expect_balance(*top);
}

// While one exists the coordinator has descriptors for its answers, and for no further link.
class NoRoomForLinks {
 public:
  explicit NoRoomForLinks(pid_t coordinator) : coordinator_(coordinator) {
    EXPECT_EQ(::prlimit(coordinator, RLIMIT_NOFILE, nullptr, &files_), 0);
    const rlimit few{count_open_fds(coordinator) + 4, files_.rlim_max};
    EXPECT_EQ(::prlimit(coordinator, RLIMIT_NOFILE, &few, nullptr), 0);
  }
  ~NoRoomForLinks() { EXPECT_EQ(::prlimit(coordinator_, RLIMIT_NOFILE, &files_, nullptr), 0); }
  NoRoomForLinks(const NoRoomForLinks&) = delete;
  NoRoomForLinks& operator=(const NoRoomForLinks&) = delete;

 private:
  pid_t coordinator_;
  rlimit files_{};
};

BEELINE_ROLE(unreached_middle) {
  auto agent = attach("middle", "top");
  ASSERT_TRUE(agent);
  context.board<EscalateBoard>().attached.raise();
  Message issue = next_message(*agent);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), kIssue);
  issue.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Has a link to the top, and can open none to the middle.
BEELINE_ROLE(linkless_bottom) {
  auto& board = context.board<EscalateBoard>();
  auto agent = attach("bottom", "middle");
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 1));
  ASSERT_TRUE(agent->send(peer_of(*agent, "top"), "here"));
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().leased, 1U);
  EXPECT_EQ(agent->counters().requeued, 0U) << "it is no failed attempt";
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
  EXPECT_EQ(agent->counters().done, 1U);
  expect_balance(*agent);
}

TEST_P(FlowEscalate, C_08_WhoHasNoLinkYetIsOwedItAllTheSame) {
  auto& shared = board<EscalateBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("unreached_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("linkless_bottom");
  ASSERT_TRUE(top->send(peer_of(*top, "bottom"), kIssue));
  ASSERT_TRUE(shared.attached.await(2, patience()));
  ASSERT_NO_FATAL_FAILURE(await_drained(*top, 1));
  {
    const NoRoomForLinks refusal(hive().coordinator());
    shared.go.raise();
    ASSERT_TRUE(shared.sent.await(1, patience()));
  }
  troupe().wait_all(patience());
  EXPECT_EQ(take_texts(*top), std::vector<std::string>{"here"}) << "nobody is bypassed";
  expect_balance(*top);
}

}  // namespace
}  // namespace beeline::test
