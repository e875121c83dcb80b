// Agents that leave during some action, and their copies in forked children.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowLeave : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowLeave);

// Leaves while it handles its second message.
BEELINE_ROLE(leaver) {
  auto agent = attach("leaver");
  ASSERT_TRUE(agent);
  int handled = 0;
  const auto served = agent->serve([&](Message& message) {
    if (++handled == 2) {
      message.done();
      EXPECT_EQ(agent->detach(patience()), 0U);
    }
    return Ack{};
  });
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kClosed);
  EXPECT_EQ(handled, 2);
  const auto again = agent->serve([](Message&) { return Ack{}; });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kClosed);
  expect_balance(*agent);
}

TEST_P(FlowLeave, AHandlerThatDetachesEndsItsServe) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("leaver");
  const Peer leaver = peer_of(*agent, "leaver");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(agent->send(leaver, "bye"));
  troupe().wait_all(patience());
}

// A copy must not send anything to anybody: the parent's control socket is still open.
std::string what_a_copy_can_do(Agent& agent, Peer to, Message& held) {
  const auto refuses = [](const SendResult& result) {
    return result.status == SendStatus::kNoRoute;
  };
  const auto fails = [](const auto& result, ErrorCode code) {
    return !result && result.error().code == code;
  };
  std::string wrong;
  if (!refuses(agent.send(to, "x"))) wrong += "send ";
  if (!refuses(agent.fire_and_forget(to, "x"))) wrong += "fire_and_forget ";
  if (!refuses(agent.reply(held, "x"))) wrong += "reply ";
  if (!refuses(agent.escalate("a copy escalates"))) wrong += "escalate ";
  if (!refuses(agent.cancel(to, 1))) wrong += "cancel ";
  if (!refuses(agent.send_control(to, kSteerOrder))) wrong += "send_control ";
  if (!fails(agent.request(to, "x", patience()), ErrorCode::kNoRoute)) wrong += "request ";
  if (!fails(agent.request_then(to, "x", patience(), [](Result<Message>) {}),
             ErrorCode::kNoRoute)) {
    wrong += "request_then ";
  }
  if (!fails(agent.send_acked(to, "x", patience()), ErrorCode::kNoRoute)) wrong += "send_acked ";
  if (!fails(agent.await_ack(to, 1, patience()), ErrorCode::kClosed)) wrong += "await_ack ";
  if (!fails(agent.loan(to, 100), ErrorCode::kClosed)) wrong += "loan ";
  if (!fails(agent.serve([](Message&) { return Ack{}; }), ErrorCode::kClosed)) wrong += "serve ";
  return wrong;
}

TEST_P(FlowLeave, TheCopyInAForkedChildOfAnAgentThatHasSentNothingSendsNothing) {
  auto agent = attach("parent");
  auto other = attach("other");
  ASSERT_TRUE(agent && other);
  ASSERT_TRUE(other->send("parent", "to be held"));
  Message held = next_message(*agent);
  ASSERT_TRUE(held.valid());
  const Peer to = peer_of(*agent, "other");

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string wrong = what_a_copy_can_do(*agent, to, held);
    ::_exit(static_cast<int>(wrong.size()));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "killed by a signal, or its exit status is the length of what is wrong";
  EXPECT_EQ(hive().log().find("a copy escalates"), std::string::npos);
  held.done();
  ASSERT_TRUE(agent->send(to, "the first word"));
  Message first = next_message(*other);
  ASSERT_TRUE(first.valid());
  EXPECT_EQ(first.text(), "the first word");
  first.done();
  expect_balance(*agent);
}

TEST_P(FlowLeave, TheNewestUnreadNoticesAreKept) {
  constexpr std::uint64_t kKept = 256;
  constexpr std::uint64_t kMore = 3;
  auto agent = attach("mother");
  ASSERT_TRUE(agent);
  const auto look = [&] {
    EXPECT_FALSE(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}));
  };
  for (std::uint64_t i = 0; i < kKept + kMore; ++i) {
    AttachOptions options = named("child-" + std::to_string(i), "mother");
    options.temporary = true;
    ASSERT_TRUE(attach(options));
    look();
  }
  const Deadline deadline = patience();
  while (agent->counters().notices_dropped < kMore && std::chrono::steady_clock::now() < deadline) {
    look();
  }
  EXPECT_EQ(agent->counters().notices_dropped, kMore);
  std::uint64_t kept = 0;
  while (const auto notice = agent->next_notice()) {
    EXPECT_EQ(notice->kind, Notice::Kind::kChildDead);
    EXPECT_EQ(notice->name, "child-" + std::to_string(kMore + kept));
    ++kept;
  }
  EXPECT_EQ(kept, kKept);
}

// ---- Leaving one that is dead -------------------------------------------------------------------

struct LeaveBoard {
  Event taken;
  Event sent;
  Event over;
};

class FlowLeaveDead : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowLeaveDead, testing::Values(World::kProcesses), world_name);

// Dies for good while it holds one message.
BEELINE_ROLE(takes_one) {
  auto& board = context.board<LeaveBoard>();
  AttachOptions options = named("mortal");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Message held = next_message(*agent);
  board.taken.raise();
  EXPECT_TRUE(board.over.await(1, patience()));
}

BEELINE_ROLE(witness) {
  auto& board = context.board<LeaveBoard>();
  auto agent = attach("witness");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(peer_of(*agent, "mortal"), "one more"));
  board.sent.raise();
  EXPECT_TRUE(board.over.await(1, patience()));
}

TEST_P(FlowLeaveDead, MessagesOfALeaverToTheDeadBecomeLettersThoughTheyAreReadLater) {
  auto& shared = board<LeaveBoard>();
  auto agent = attach("leaver");
  ASSERT_TRUE(agent);
  const std::size_t mortal = troupe().start("takes_one");
  const Peer to = peer_of(*agent, "mortal");
  ASSERT_TRUE(agent->send(to, "held"));
  ASSERT_TRUE(shared.taken.await(1, patience()));
  const std::size_t witness = troupe().start("witness");
  ASSERT_TRUE(shared.sent.await(1, patience()));
  // Under the next coordinator nothing is read while the witness may still use the old directory.
  ASSERT_EQ(::kill(troupe().os_pid(witness), SIGSTOP), 0);
  ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
  troupe().kill(mortal);

  std::uint64_t letters = 2;  // the held one, and the one of the witness
  const Deadline deadline = patience();
  SendResult last{SendStatus::kFull, 0, 0};
  while (last.status != SendStatus::kPeerDead && std::chrono::steady_clock::now() < deadline) {
    last = agent->send(to, "for nobody");
    letters += last ? 1 : 0;
  }
  EXPECT_EQ(last.status, SendStatus::kPeerDead);
  ASSERT_GT(letters, 2U) << "nothing was sent";
  (void)agent->detach();
  EXPECT_EQ(hive().status().dead_letters, 0U) << "they were read before it left";
  troupe().kill(witness);
  while (hive().status().dead_letters < letters && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_GE(hive().status().dead_letters, letters);
}

}  // namespace
}  // namespace beeline::test
