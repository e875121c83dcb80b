// What a handler escalates and what finds no room above, or nobody.

#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "src/control/log_gate.h"
#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct OwedBoard {
  Event attached;
  Event go;
  Event sent;
  Event buried;
};

class FlowOwed : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowOwed);

constexpr const char* kIssue = "nobody here knows what to do";
constexpr std::array kTexts{"first", "second", "third", "fourth"};
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
  auto& board = context.board<OwedBoard>();
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

TEST_P(FlowOwed, C_08_WhatFindsNoRoomAboveIsOwedAndWhatIsTooLongIsCut) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("choked_middle");
  const Peer middle = peer_of(*top, "middle");
  const std::string hard(kCutTo + 1000, 'x');
  const SendResult sent = top->send(middle, hard, {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(board<OwedBoard>().sent.await(1, patience()));
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
  auto& board = context.board<OwedBoard>();
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

TEST_P(FlowOwed, C_08_WhatGoesUpOvertakesNothingThatIsOwedThere) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("relieved_middle");
  const Peer middle = peer_of(*top, "middle");
  for (const char* text : {"first", "second"}) ASSERT_TRUE(top->send(middle, text));
  auto& shared = board<OwedBoard>();
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

// Escalates what it is sent: three with no room in its lane to the middle, which reads nothing, and
// one when that is dead.
BEELINE_ROLE(bereaved_bottom) {
  auto& board = context.board<OwedBoard>();
  AttachOptions options = named("bottom", "middle");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 4));
  const Peer middle = peer_of(*agent, "middle");
  while (agent->send(middle, "data")) {
  }
  int calls = 0;
  const auto pass_on = [&](Message& message) {
    ++calls;
    if (message.text() == "fourth") {
      EXPECT_EQ(agent->counters().leased, 4U);
      board.sent.raise();
      EXPECT_TRUE(board.buried.await(1, patience()));
    }
    return Ack{AckStatus::kEscalate, {}};
  };
  const auto served = agent->serve(pass_on, {.most = 4});
  EXPECT_TRUE(served && *served == 4);
  EXPECT_EQ(agent->detach(patience()), 0U) << "they went past the dead";
  EXPECT_EQ(agent->counters().done, 4U);
  EXPECT_EQ(agent->counters().requeued, 0U) << "that is no failed attempt";
  EXPECT_EQ(calls, 4);
  expect_balance(*agent);
}

BEELINE_ROLE(mortal_and_deaf_middle) {
  auto& board = context.board<OwedBoard>();
  AttachOptions options = named("middle", "top");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
}

TEST_P(FlowOwed, C_02_WhatIsOwedToOneThatDiesForGoodGoesToTheNextAbove) {
  auto& shared = board<OwedBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("mortal_and_deaf_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("bereaved_bottom");
  const Peer bottom = peer_of(*top, "bottom");
  const Pid middle = peer_of(*top, "middle").pid;
  for (const char* text : kTexts) ASSERT_TRUE(top->send(bottom, text));
  ASSERT_TRUE(shared.sent.await(1, patience()));
  shared.go.raise();
  ASSERT_NO_FATAL_FAILURE(
      drain_until(*top, [&] { return top->info(middle)->state == State::kDead; }));
  shared.buried.raise();
  for (const char* text : kTexts) {
    Message issue = next_message(*top, {.type = kEscalation});
    ASSERT_TRUE(issue.valid());
    EXPECT_EQ(issue.text(), text);
    EXPECT_EQ(issue.from(), bottom.pid);
    issue.done();
  }
  troupe().wait_all(patience());
  expect_balance(*top);
}

TEST_P(FlowOwed, C_08_WhatTheCoordinatorDoesNotLogIsADeadLetter) {
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
  std::size_t calls = 0;
  const auto pass_on = [&](Message&) { return ++calls, Ack{AckStatus::kEscalate, {}}; };
  const auto served = top->serve(pass_on, {.most = kAll});
  ASSERT_TRUE(served && *served == kAll);
  EXPECT_EQ(calls, kAll) << "nobody is asked twice";
  const InboxCounters counts = top->counters();
  EXPECT_GE(counts.done, kLogged);
  EXPECT_GE(counts.dead, 1U) << "more than the coordinator writes down at once";
  EXPECT_EQ(counts.done + counts.dead, kAll);
  EXPECT_NE(hive().log().find("issue " + std::to_string(kLogged - 1)), std::string::npos);
  const auto first = asker->await_ack(to, sent.front().id, patience());
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->status, AckStatus::kEscalate);
  const auto refused = asker->await_ack(to, sent.back().id, patience());
  ASSERT_TRUE(refused) << refused.error().text;
  EXPECT_EQ(refused->status, AckStatus::kRejected);
  EXPECT_EQ(refused->reply, "it could not be escalated: full");
  expect_balance(*top);
}

// Lets an agent with one message escalate that while the coordinator hangs, kills this one, and
// waits until the message has gone up.
void escalate_without_coordinator(Agent& agent, pid_t coordinator) {
  ASSERT_NO_FATAL_FAILURE(await_queued(agent, 1));
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent.serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent.counters().leased, 1U);
  const int fd = agent.fd();
  EXPECT_FALSE(agent.try_receive());
  EXPECT_TRUE(os::wait_readable(fd, kPatience)) << "nobody rings, so it looks by itself";
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  ASSERT_NO_FATAL_FAILURE(drain_until(agent, [&] { return agent.counters().leased == 0; }));
  EXPECT_EQ(agent.counters().done, 1U);
  EXPECT_EQ(agent.counters().requeued, 0U) << "it is no failed attempt";
  expect_balance(agent);
}

// Does not wait long for a coordinator that hangs.
[[nodiscard]] AttachOptions hasty(const std::string& name, const std::string& parent = "") {
  AttachOptions options = named(name, parent);
  options.control_timeout = 100ms;
  return options;
}

TEST_P(FlowOwed, C_08_WhatFindsNoCoordinatorWaitsForOne) {
  auto top = attach(hasty("top"));
  auto asker = attach("asker");
  ASSERT_TRUE(top && asker);
  const Peer to = peer_of(*asker, "top");
  const SendResult sent = asker->send(to, kIssue, {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_NO_FATAL_FAILURE(escalate_without_coordinator(*top, hive().coordinator()));
  const auto ack = asker->await_ack(to, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_NE(hive().log().find(kIssue), std::string::npos);
}

TEST_P(FlowOwed, C_08_WhatNeedsALinkThatNobodyOpensWaitsForACoordinator) {
  auto top = attach("top");
  auto asker = attach("asker");
  auto middle = attach(hasty("middle", "top"));
  ASSERT_TRUE(top && asker && middle);
  ASSERT_TRUE(asker->send(peer_of(*asker, "middle"), kIssue));
  ASSERT_NO_FATAL_FAILURE(escalate_without_coordinator(*middle, hive().coordinator()));
  Message issue = next_message(*top);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), kIssue);
  issue.done();
  EXPECT_EQ(hive().log().find(kIssue), std::string::npos) << "nobody is bypassed";
}

TEST_P(FlowOwed, C_08_WhatHasComeTooFarWaitsForNoCoordinator) {
  AttachOptions options = hasty("worker", "lead");
  options.max_hops = 1;
  auto lead = attach("lead");
  auto worker = attach(options);
  ASSERT_TRUE(lead && worker);
  const SendResult asked = worker->send(peer_of(*worker, "lead"), "what now?");
  ASSERT_TRUE(asked);
  ASSERT_TRUE(lead->send(peer_of(*lead, "worker"), "this", {.reply_to = asked.id, .hops = 1}));
  ASSERT_NO_FATAL_FAILURE(await_queued(*worker, 1));
  const pid_t stopped = hive().coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  EXPECT_FALSE(worker->siblings()) << "it knows that there is none";
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = worker->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  const std::vector<InboxItem> letters = worker->inbox();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.front().reason, "rejected");
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  while (auto data = lead->try_receive()) data->done();
}

// Detaches with an escalation for which there is no room.
BEELINE_ROLE(leaving_middle) {
  auto agent = attach_choked(1);
  ASSERT_TRUE(agent);
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_NE(agent->detach(), 0U) << "of its own messages";
}

TEST_P(FlowOwed, C_08_WhatIsOwedByWhoDetachesComesAgain) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  const std::size_t left = troupe().start("leaving_middle");
  ASSERT_TRUE(top->send(peer_of(*top, "middle"), "hard"));
  troupe().wait(left, patience());
  auto middle = attach_again(named("middle", "top"));
  ASSERT_TRUE(middle);
  Message message = next_message(*middle);
  ASSERT_TRUE(message.valid());
  EXPECT_EQ(message.text(), "hard");
  EXPECT_EQ(message.attempts(), 1U);
  message.done();
  expect_balance(*middle);
  while (auto data = top->try_receive()) data->done();
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
  context.board<OwedBoard>().attached.raise();
  Message issue = next_message(*agent);
  ASSERT_TRUE(issue.valid());
  EXPECT_EQ(issue.type(), kEscalation);
  EXPECT_EQ(issue.text(), kIssue);
  issue.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Has a link to the top, and can open none to the middle.
BEELINE_ROLE(linkless_bottom) {
  auto& board = context.board<OwedBoard>();
  auto agent = attach("bottom", "middle");
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 1));
  ASSERT_TRUE(agent->send(peer_of(*agent, "top"), "here"));
  board.attached.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  const std::vector<InboxItem> letters = agent->inbox();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.front().reason, "rejected");
  board.sent.raise();
  ASSERT_TRUE(board.go.await(2, patience()));
  EXPECT_TRUE(agent->requeue_dead(letters.front().id));
  served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().done, 1U);
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

TEST_P(FlowOwed, C_08_WhatCannotReachWhoIsAboveIsADeadLetterAndBypassesNobody) {
  auto& shared = board<OwedBoard>();
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
  shared.go.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(take_texts(*top), std::vector<std::string>{"here"}) << "nobody is bypassed";
  expect_balance(*top);
}

}  // namespace
}  // namespace beeline::test
