// What a handler escalates and what finds no room above, or nobody.

#include <signal.h>
#include <sys/resource.h>

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
};

class FlowOwed : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowOwed);

constexpr const char* kIssue = "nobody here knows what to do";
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

// Has three messages, and no room in its lane to the middle, which reads nothing and then dies.
BEELINE_ROLE(bereaved_bottom) {
  auto& board = context.board<OwedBoard>();
  AttachOptions options = named("bottom", "middle");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, 3));
  const Peer middle = peer_of(*agent, "middle");
  while (agent->send(middle, "data")) {
  }
  int calls = 0;
  const auto pass_on = [&](Message&) { return ++calls, Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 3});
  EXPECT_TRUE(served && *served == 3);
  EXPECT_EQ(agent->counters().leased, 3U);
  board.sent.raise();
  EXPECT_EQ(agent->detach(patience()), 0U) << "they went past the dead";
  EXPECT_EQ(agent->counters().done, 3U);
  EXPECT_EQ(agent->counters().requeued, 0U) << "that is no failed attempt";
  EXPECT_EQ(calls, 3);
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
  for (const char* text : {"first", "second", "third"}) ASSERT_TRUE(top->send(bottom, text));
  ASSERT_TRUE(shared.sent.await(1, patience()));
  shared.go.raise();
  for (const char* text : {"first", "second", "third"}) {
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
  const auto refused = asker->await_ack(to, sent[kLogged].id, patience());
  ASSERT_TRUE(refused) << refused.error().text;
  EXPECT_EQ(refused->status, AckStatus::kRejected);
  EXPECT_EQ(refused->reply, "it could not be escalated: full");
  expect_balance(*top);
}

TEST_P(FlowOwed, C_08_WhatFindsNoCoordinatorWaitsForOne) {
  AttachOptions options = named("top");
  options.control_timeout = 100ms;
  auto top = attach(options);
  auto asker = attach("asker");
  ASSERT_TRUE(top && asker);
  const Peer to = peer_of(*asker, "top");
  const SendResult sent = asker->send(to, kIssue, {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*top, 1));
  const pid_t stopped = hive().coordinator();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = top->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(top->counters().leased, 1U);
  const int fd = top->fd();
  EXPECT_FALSE(top->try_receive());
  EXPECT_TRUE(os::wait_readable(fd, kPatience)) << "nobody rings, so it looks by itself";
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  ASSERT_NO_FATAL_FAILURE(drain_until(*top, [&] { return top->counters().leased == 0; }));
  EXPECT_EQ(top->counters().done, 1U);
  EXPECT_EQ(top->counters().requeued, 0U) << "it is no failed attempt";
  const auto ack = asker->await_ack(to, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kEscalate);
  EXPECT_NE(hive().log().find(kIssue), std::string::npos);
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
