// Escalations of a handler that find no room above, or a dead agent there.

#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

struct OwedBoard {
  Event attached;
  Event go;
  Event sent;
  Event buried;
  std::atomic<pid_t> os_pid;
  std::atomic<Pid> pid;
};

class FlowOwed : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowOwed);

constexpr const char* kIssue = "nobody here knows what to do";
constexpr std::array kTexts{"first", "second", "third", "fourth"};
constexpr std::size_t kCutTo = 64 << 10;

// The middle, with this many messages from the top and no room in its lane to the top.
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

// Fills its lane to the top, and then escalates its messages.
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

TEST_P(FlowOwed, C_08_AnEscalationThatFindsNoRoomAboveIsOwedAndALongOneIsCut) {
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

// The same, and then it waits outside of the library.
BEELINE_ROLE(choked_middle_on_fd) {
  auto& board = context.board<OwedBoard>();
  auto agent = attach_choked(1);
  ASSERT_TRUE(agent);
  board.pid.store(agent->pid());
  board.os_pid.store(::getpid());
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  const int fd = agent->fd();
  EXPECT_FALSE(agent->try_receive());
  board.sent.raise();
  while (agent->counters().leased != 0) {
    ASSERT_TRUE(os::wait_readable(fd, kPatience)) << "it is rung when there is room";
    EXPECT_FALSE(agent->try_receive());
  }
  EXPECT_EQ(agent->counters().done, 1U);
  expect_balance(*agent);
}

TEST_P(FlowOwed, C_08_AnAgentAboveThatTakesAMessageRingsForTheWaitingEscalation) {
  auto& shared = board<OwedBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("choked_middle_on_fd");
  ASSERT_TRUE(top->send(peer_of(*top, "middle"), "hard"));
  ASSERT_TRUE(shared.sent.await(1, patience()));
  {
    const StatusProbe probe(hive().name(), shared.os_pid.load(), shared.pid.load());
    ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
  }
  Message issue = next_message(*top, {.type = kEscalation});
  ASSERT_TRUE(issue.valid());
  issue.done();
  troupe().wait_all(patience());
  while (auto data = top->try_receive()) data->done();
  expect_balance(*top);
}

// Fills its lane to the top, and gets room again before it escalates the second message.
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

TEST_P(FlowOwed, C_08_AnEscalationOvertakesNoneThatIsOwedToTheSameAgent) {
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

// Escalates its messages: three while its lane to the middle, which reads nothing, is full, and one
// when the middle is dead.
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

TEST_P(FlowOwed, C_02_AnEscalationOwedToAnAgentThatDiesForGoodGoesToTheNextAbove) {
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

// Escalates when its parent, the only agent that it may write to, is dead.
BEELINE_ROLE(orphaned_task) {
  auto& board = context.board<OwedBoard>();
  AttachOptions options = named("bottom", "middle");
  options.role = "task";
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.buried.await(1, patience()));
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(agent->counters().done, 1U);
  expect_balance(*agent);
}

TEST_P(FlowOwed, C_02_TheCoordinatorWritesDownTheEscalationOfATaskWithoutAParent) {
  auto& shared = board<OwedBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("mortal_and_deaf_middle");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  troupe().start("orphaned_task");
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Pid middle = peer_of(*top, "middle").pid;
  ASSERT_TRUE(top->send(peer_of(*top, "bottom"), kIssue));
  shared.go.raise();
  ASSERT_NO_FATAL_FAILURE(
      drain_until(*top, [&] { return top->info(middle)->state == State::kDead; }));
  shared.buried.raise();
  troupe().wait_all(patience());
  EXPECT_NE(hive().log().find(kIssue), std::string::npos);
  EXPECT_FALSE(top->try_receive());
}

// Escalates messages, which its rate allows only rarely.
BEELINE_ROLE(limited_middle) {
  AttachOptions options = named("middle", "top");
  options.send_rate = 50;
  options.send_burst = 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kTexts.size()));
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = kTexts.size()});
  EXPECT_TRUE(served && *served == kTexts.size());
  EXPECT_EQ(agent->detach(patience()), 0U);
  EXPECT_EQ(agent->counters().done, kTexts.size());
  expect_balance(*agent);
}

TEST_P(FlowOwed, C_08_ARateLimitedEscalationGoesUpWhenThereIsAToken) {
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("limited_middle");
  const Peer middle = peer_of(*top, "middle");
  for (const char* text : kTexts) ASSERT_TRUE(top->send(middle, text));
  for (const char* text : kTexts) {
    Message issue = next_message(*top, {.type = kEscalation});
    ASSERT_TRUE(issue.valid());
    EXPECT_EQ(issue.text(), text);
    issue.done();
  }
  troupe().wait_all(patience());
  expect_balance(*top);
}

// A waiting escalation is cancelled.
BEELINE_ROLE(revoked_middle) {
  auto& board = context.board<OwedBoard>();
  auto agent = attach_choked(1);
  ASSERT_TRUE(agent);
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  board.sent.raise();
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return agent->counters().leased == 0; }));
  board.buried.raise();
  const std::vector<InboxItem> letters = agent->inbox();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters.front().reason, "cancelled");
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowOwed, C_08_AnEscalationThatWaitsToGoUpCanBeTakenBack) {
  auto& shared = board<OwedBoard>();
  auto top = attach("top");
  ASSERT_TRUE(top);
  troupe().start("revoked_middle");
  const Peer middle = peer_of(*top, "middle");
  const SendResult sent = top->send(middle, "hard", {.requires_ack = true});
  ASSERT_TRUE(sent);
  ASSERT_TRUE(shared.sent.await(1, patience()));
  ASSERT_TRUE(top->cancel(middle, sent.id));
  // The wait for the acknowledgement makes room above: the escalation could go up before it.
  ASSERT_TRUE(shared.buried.await(1, patience()));
  const auto ack = top->await_ack(middle, sent.id, patience());
  ASSERT_TRUE(ack) << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kRejected);
  while (auto data = top->receive({.timeout = 1ms})) data->done();
  troupe().wait_all(patience());
  while (auto data = top->try_receive()) data->done();
}

// Detaches while it owes an escalation without room.
BEELINE_ROLE(leaving_middle) {
  auto agent = attach_choked(1);
  ASSERT_TRUE(agent);
  const auto pass_on = [](Message&) { return Ack{AckStatus::kEscalate, {}}; };
  const auto served = agent->serve(pass_on, {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_NE(agent->detach(), 0U) << "of its own messages";
}

TEST_P(FlowOwed, C_08_AnEscalationOwedByAnAgentThatDetachesComesAgain) {
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

}  // namespace
}  // namespace beeline::test
