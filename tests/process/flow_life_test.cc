// The end of an agent or of its coordinator: the calls that still work, and the work that goes on.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct LifeBoard {
  Event attached;
  Event go;
  Event done;
};

class FlowLife : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowLife);

// Answers every message until it is told to stop.
BEELINE_ROLE(life_echo) {
  auto& board = context.board<LifeBoard>();
  auto agent = attach(context.number == 0 ? "echo" : "echo-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    EXPECT_TRUE(agent->reply_until(message, message.payload(), patience()));
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

void ask(Agent& agent, Peer to, const std::string& text, const std::string& type = "") {
  auto answer = agent.request(to, text, patience(), {.type = type});
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), text);
  answer->done();
}

TEST_P(FlowLife, AnAgentThatHasLeftNeitherSendsNorReceives) {
  auto agent = attach("leaver");
  ASSERT_TRUE(agent);
  troupe().start("life_echo");
  const Peer echo = peer_of(*agent, "echo");
  SharedSender sender = agent->shared_sender();
  ASSERT_TRUE(sender.send(echo, "bye", {.type = "stop"}, patience()));
  Message answer = next_message(*agent);
  ASSERT_TRUE(answer.valid());
  answer.done();
  auto loan = agent->loan(echo, 100);
  ASSERT_TRUE(loan);
  EXPECT_EQ(agent->detach(patience()), 0U);

  EXPECT_EQ(agent->send(echo, "lost?").status, SendStatus::kNoRoute);
  EXPECT_EQ(agent->send_until(echo, "lost?", patience()).status, SendStatus::kNoRoute);
  EXPECT_EQ(agent->send(*loan).status, SendStatus::kNoRoute);
  EXPECT_EQ(sender.send(echo, "lost?").status, SendStatus::kNoRoute);
  EXPECT_EQ(agent->loan(echo, 100).error().code, ErrorCode::kClosed);
  EXPECT_EQ(agent->peer("echo").error().code, ErrorCode::kClosed);
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->receive().error().code, ErrorCode::kClosed);
  EXPECT_EQ(agent->detach(), 0U);
  troupe().wait_all(patience());
}

TEST_P(FlowLife, AForkedChildLeavesItsParentsAgentAlone) {
  auto agent = attach("parent");
  ASSERT_TRUE(agent);
  troupe().start("life_echo");
  const Peer echo = peer_of(*agent, "echo");
  ASSERT_TRUE(agent->send(echo, "to be held"));
  Message held = next_message(*agent);
  ASSERT_TRUE(held.valid());

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = agent->send(echo, "from the child").status == SendStatus::kNoRoute;
    // The kernel must not place the child's own memory where the segments were.
    std::vector<std::string> own(64, std::string(4U << 20, 'x'));
    held = Message();
    agent.reset();
    for (const std::string& text : own) {
      if (text != own.front()) ::_exit(2);
    }
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child's copies";
  EXPECT_EQ(held.text(), "to be held");
  held.done();
  ask(*agent, echo, "still there", "stop");
  expect_balance(*agent);
  EXPECT_EQ(agent->counters().requeued, 0U);
  EXPECT_EQ(agent->detach(patience()), 0U);
  troupe().wait_all(patience());
}

// Answers a request of which it is not the receiver.
BEELINE_ROLE(forger) {
  auto& board = context.board<LifeBoard>();
  auto agent = attach("forger");
  ASSERT_TRUE(agent);
  Message sample = next_message(*agent);
  ASSERT_TRUE(sample.valid());
  const Peer victim = peer_of(*agent, "asker");
  for (MessageId next = sample.id(); next < sample.id() + 8; ++next) {
    EXPECT_TRUE(agent->send_until(victim, "forged", patience(), {.reply_to = next}));
  }
  sample.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
  board.done.raise();
}

TEST_P(FlowLife, OnlyThePeerThatWasAskedCanAnswer) {
  auto& shared = board<LifeBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("life_echo");
  troupe().start("forger");
  const Peer echo = peer_of(*agent, "echo");
  ASSERT_TRUE(agent->send(peer_of(*agent, "forger"), "an id of mine"));
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return shared.done.count() != 0; }));
  ask(*agent, echo, "the truth", "stop");
  for (int i = 0; i < 8; ++i) {
    Message forged = next_message(*agent);
    ASSERT_TRUE(forged.valid());
    EXPECT_EQ(forged.text(), "forged");
    forged.done();
  }
  expect_balance(*agent);
  troupe().wait_all(patience());
}

TEST_P(FlowLife, AnAgentThatWaitsForAnAnswerBetweenTwoLooksAtItsFdMissesNothing) {
  auto agent = attach("looper");
  ASSERT_TRUE(agent);
  troupe().start("life_echo", 0);
  troupe().start("life_echo", 1);
  const Peer first = peer_of(*agent, "echo");
  const Peer second = peer_of(*agent, "echo-1");
  const int fd = agent->fd();
  for (int round = 0; round < 200; ++round) {
    while (auto message = agent->try_receive()) message->done();
    // A timer's callback would do this between two waits of a loop.
    ASSERT_TRUE(agent->send(first, "answered to the inbox"));
    ASSERT_NO_FATAL_FAILURE(ask(*agent, second, "asked"));
    std::optional<Message> message;
    while (!message) {
      ASSERT_TRUE(os::wait_readable(fd, kPatience)) << "round " << round;
      message = agent->try_receive();
    }
    EXPECT_EQ(message->text(), "answered to the inbox");
    message->done();
  }
  ask(*agent, first, "", "stop");
  ask(*agent, second, "", "stop");
  troupe().wait_all(patience());
}

TEST_P(FlowLife, AFloodOfSmallPayloadsLeavesTheMemoryOfTheLargeOnes) {
  auto& shared = board<LifeBoard>();
  AttachOptions options = named("flooder");
  options.normal_slots = 1024;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("life_echo");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Peer echo = peer_of(*agent, "echo");
  // The sender holds all slabs at once, as if the reader had finished none.
  std::vector<Loan> loans;
  for (;;) {
    auto loan = agent->loan(echo, 100);
    if (!loan) {
      EXPECT_EQ(loan.error().code, ErrorCode::kFull) << loan.error().text;
      break;
    }
    loans.push_back(std::move(*loan));
    ASSERT_LE(loans.size(), 192U) << "slabs of 1 and 8 KiB";
  }
  EXPECT_TRUE(agent->loan(echo, 64U << 20)) << "the largest payload still finds its slab";
  loans.clear();
  ask(*agent, echo, "", "stop");
  troupe().wait_all(patience());
}

// ---- Coordinators that hang or are lost ---------------------------------------------------------

Pid pid_of(const ScratchHive& hive, const std::string& name) {
  const auto all = hive.client().list_all();
  if (!all) return 0;
  for (const auto& agent : *all) {
    if (agent.name == name) return agent.pid;
  }
  return 0;
}

TEST_P(FlowLife, MessagesGoOnWhileTheCoordinatorHangs) {
  auto& shared = board<LifeBoard>();
  AttachOptions options = named("caller");
  options.control_timeout = 1s;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("life_echo", 0);
  troupe().start("life_echo", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Peer echo = peer_of(*agent, "echo");
  ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "warm up"));
  const Pid other = pid_of(hive(), "echo-1");
  const pid_t coordinator = hive().coordinator();
  ASSERT_GT(coordinator, 0);

  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  const auto late = agent->peer(other);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout) << late.error().text;
  // If each of these waited for the coordinator, 1 s, the test would time out.
  for (int i = 0; i < 400; ++i) ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, std::to_string(i)));
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);

  auto found = agent->peer(other);
  while (!found && found.error().code == ErrorCode::kTimeout) found = agent->peer(other);
  ASSERT_TRUE(found) << found.error().text;
  ask(*agent, *found, "after all", "stop");
  ask(*agent, echo, "", "stop");
  troupe().wait_all(patience());
}

// Opens a link to the caller, and reports it.
BEELINE_ROLE(newcomer) {
  auto& board = context.board<LifeBoard>();
  auto agent = attach("newcomer");
  ASSERT_TRUE(agent);
  const Peer caller = peer_of(*agent, "caller");
  ASSERT_TRUE(agent->send(caller, "new here"));
  board.done.raise();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowLife, MessagesGoOnWhileANewLinkCannotBeAnswered) {
  auto& shared = board<LifeBoard>();
  auto agent = attach("caller");
  ASSERT_TRUE(agent);
  troupe().start("life_echo", 0);
  const Peer echo = peer_of(*agent, "echo");
  ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "warm up"));
  troupe().start("newcomer");
  ASSERT_TRUE(shared.done.await(1, patience()));  // no agent of this process has looked meanwhile
  const pid_t coordinator = hive().coordinator();
  ASSERT_GT(coordinator, 0);
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  // If each of these waited for the coordinator, 2 s at least, the test would time out.
  for (int i = 0; i < 200; ++i) ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, std::to_string(i)));
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);
  Message late = next_message(*agent);
  ASSERT_TRUE(late.valid());
  EXPECT_EQ(late.text(), "new here");
  late.done();
  ask(*agent, echo, "", "stop");
  troupe().wait_all(patience());
}

TEST_P(FlowLife, AgentsGoOnWhenCoordinatorAndKeeperAreLost) {
  auto& shared = board<LifeBoard>();
  auto agent = attach("caller");
  ASSERT_TRUE(agent);
  // Joins late, so that the two known agents come back in their own order.
  troupe().start("life_echo", 0);
  const Peer echo = peer_of(*agent, "echo");
  ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "warm up"));
  const pid_t keeper = hive().keeper();
  const os::UniqueFd end = std::move(*os::open_pidfd(hive().coordinator()));
  ASSERT_EQ(::kill(keeper, SIGSTOP), 0);
  ASSERT_EQ(::kill(hive().coordinator(), SIGKILL), 0);
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  ASSERT_TRUE(os::wait_readable(end.get(), kPatience));

  for (int i = 0; i < 100; ++i) ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "nobody rules"));
  EXPECT_NE(hive().status().keeper_pid, keeper) << "whoever asks starts the hive again";
  // The name is there again as soon as its agent has registered; no message is lost meanwhile.
  for (int i = 0; i < 100 || pid_of(hive(), "echo") == 0; ++i) {
    ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "a new ruler"));
  }
  EXPECT_EQ(pid_of(hive(), "echo"), echo.pid);
  while (pid_of(hive(), "caller") == 0) ASSERT_NO_FATAL_FAILURE(ask(*agent, echo, "and we"));
  troupe().start("life_echo", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  ask(*agent, peer_of(*agent, "echo-1"), "a new peer", "stop");
  ask(*agent, echo, "", "stop");
  expect_balance(*agent);
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
