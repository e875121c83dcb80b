// Sleeping receivers are woken. Messages wait for receivers that have not attached yet or have
// ended.

#include <unistd.h>

#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

struct WakeBoard {
  Event waiting;   // the sleeper is about to wait
  Event received;  // the sleeper has its message
  Event go;
  std::atomic<pid_t> os_pid;
  std::atomic<Pid> pid;
};

class FlowWake : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowWake);

enum SleeperKind : std::uint32_t { kInReceive = 0, kOnFd = 1, kInServe = 2 };

constexpr std::uint32_t kNights = 3;

Message wait_on_event(Agent& agent, WakeBoard& board) {
  const int fd = agent.fd();
  auto message = agent.try_receive();
  board.waiting.raise();
  while (!message) {
    if (!os::wait_readable(fd, kPatience)) {
      ADD_FAILURE() << "the fd does not become readable";
      return {};
    }
    message = agent.try_receive();
  }
  return std::move(*message);
}

// A handler that takes one message.
void serve_one(Agent& agent, WakeBoard& board) {
  board.waiting.raise();
  const auto handle = [&](Message&) {
    board.received.raise();
    return Ack{};
  };
  const auto served = agent.serve(handle, {.until = patience(), .most = 1});
  EXPECT_TRUE(served && *served == 1);
}

BEELINE_ROLE(sleeper) {
  auto& board = context.board<WakeBoard>();
  auto agent = attach("sleeper");
  ASSERT_TRUE(agent);
  board.pid.store(agent->pid());
  board.os_pid.store(::getpid());
  for (std::uint32_t i = 0; i <= kNights; ++i) {
    if (context.number == kInServe) {
      serve_one(*agent, board);
      continue;
    }
    Message message;
    if (context.number == kOnFd) {
      message = wait_on_event(*agent, board);
    } else {
      board.waiting.raise();
      message = next_message(*agent);
    }
    ASSERT_TRUE(message.valid());
    message.done();
    board.received.raise();
  }
  expect_balance(*agent);
}

// Wakes a sleeper in some of its long sleeps, the nights.
void wake_from_long_sleep(WakeBoard& shared, const std::string& hive) {
  auto agent = attach("waker");
  ASSERT_TRUE(agent);
  const Peer sleeper = peer_of(*agent, "sleeper");
  ASSERT_TRUE(agent->send(sleeper, "warm up"));
  ASSERT_TRUE(shared.received.await(1, patience()));
  const StatusProbe probe(hive, shared.os_pid.load(), shared.pid.load());
  std::uint32_t woken = 0;
  for (std::uint32_t night = 1; night <= kNights; ++night) {
    ASSERT_TRUE(shared.waiting.await(night + 1, patience()));
    ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
    const std::uint64_t before = probe.sleeps();
    ASSERT_TRUE(agent->send(sleeper, "wake up"));
    ASSERT_TRUE(shared.received.await(night + 1, patience()));
    // The sleeper may have begun the next night meanwhile; it announces that before.
    if (probe.sleeps() == before || shared.waiting.count() > night + 1) ++woken;
  }
  EXPECT_GT(woken, 0U) << "it slept again each time and found the message by itself";
}

TEST_P(FlowWake, HK_021_ASendWakesAReceiverThatHasSleptForLong) {
  troupe().start("sleeper", kInReceive);
  ASSERT_NO_FATAL_FAILURE(wake_from_long_sleep(board<WakeBoard>(), hive().name()));
  troupe().wait_all(patience());
}

TEST_P(FlowWake, HK_057_ASendWakesAHandlerThatWaits) {
  troupe().start("sleeper", kInServe);
  ASSERT_NO_FATAL_FAILURE(wake_from_long_sleep(board<WakeBoard>(), hive().name()));
  troupe().wait_all(patience());
}

TEST_P(FlowWake, ASendWakesAReceiverThatWaitsOnItsFd) {
  auto& shared = board<WakeBoard>();
  auto agent = attach("waker");
  ASSERT_TRUE(agent);
  troupe().start("sleeper", kOnFd);
  const Peer sleeper = peer_of(*agent, "sleeper");
  for (std::uint32_t night = 0; night <= kNights; ++night) {
    ASSERT_TRUE(shared.waiting.await(night + 1, patience()));
    const StatusProbe probe(hive().name(), shared.os_pid.load(), shared.pid.load());
    ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
    ASSERT_TRUE(agent->send(sleeper, "wake up"));
    ASSERT_TRUE(shared.received.await(night + 1, patience()));
  }
  troupe().wait_all(patience());
}

// ---- Before and after -----------------------------------------------------------------------

constexpr std::uint32_t kEarly = 50;

void send_numbered(Agent& agent, Peer to, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t i = first; i <= last; ++i) {
    ASSERT_EQ(agent.send(to, std::to_string(i)).status, SendStatus::kOk) << i;
  }
}

void take_numbered(Agent& agent, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t i = first; i <= last; ++i) {
    Message message = next_message(agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), std::to_string(i));
    EXPECT_FALSE(message.redelivered());
    message.done();
  }
  EXPECT_FALSE(agent.try_receive());
}

BEELINE_ROLE(late_loop) {
  auto& board = context.board<WakeBoard>();
  auto agent = attach("late");
  ASSERT_TRUE(agent);
  board.waiting.raise();
  ASSERT_TRUE(board.go.await(1, patience()));
  take_numbered(*agent, 1, kEarly);
  expect_balance(*agent);
}

TEST_P(FlowWake, MessagesWaitForTheLoopOfTheReceiver) {
  auto agent = attach("early");
  ASSERT_TRUE(agent);
  troupe().start("late_loop");
  ASSERT_TRUE(board<WakeBoard>().waiting.await(1, patience()));
  send_numbered(*agent, peer_of(*agent, "late"), 1, kEarly);
  board<WakeBoard>().go.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

BEELINE_ROLE(comes_and_goes) {
  auto agent = attach("guest");
  ASSERT_TRUE(agent);
  if (context.number == 1) take_numbered(*agent, 1, kEarly);
  expect_balance(*agent);
}

TEST_P(FlowWake, MessagesForAnAwayNameWaitForItsNextAttach) {
  auto agent = attach("host");
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->send("guest", "nobody has ever had this name").status, SendStatus::kNoAgent);
  troupe().start("comes_and_goes", 0);
  troupe().wait_all(patience());
  send_numbered(*agent, peer_of(*agent, "guest"), 1, kEarly);
  troupe().start("comes_and_goes", 1);
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// ---- Close --------------------------------------------------------------------------------------

// Ends without a word if it is a process; otherwise only the thread's agent ends.
BEELINE_ROLE(leaves_messages) {
  auto agent = attach("gone");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "heir");
  send_numbered(*agent, to, 1, kEarly);
  const std::string large(5000, 'x');
  ASSERT_TRUE(agent->send(to, large));
}

TEST_P(FlowWake, MessagesThatALeavingSenderLeftInItsLanesArrive) {
  auto agent = attach("heir");
  ASSERT_TRUE(agent);
  troupe().start("leaves_messages");
  troupe().wait_all(patience());
  for (std::uint32_t i = 1; i <= kEarly; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), std::to_string(i));
    message.done();
  }
  Message large = next_message(*agent);
  ASSERT_TRUE(large.valid());
  EXPECT_EQ(large.text(), std::string(5000, 'x'));
  large.done();
  expect_balance(*agent);
}

// The first life takes 5, finishes 2 and leaves 3 leases open; the second gets all but the 2.
BEELINE_ROLE(two_lives) {
  auto& board = context.board<WakeBoard>();
  auto agent = attach("two-lives");
  ASSERT_TRUE(agent);
  if (context.number == 0) {
    board.waiting.raise();
    std::vector<Message> leases;
    for (int i = 0; i < 5; ++i) leases.push_back(next_message(*agent));
    leases[0].done();
    leases[1].done();
    return;
  }
  for (std::uint32_t i = 3; i <= kEarly; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), std::to_string(i));
    EXPECT_EQ(message.redelivered(), i <= 5) << i;
    message.done();
  }
  EXPECT_FALSE(agent->try_receive());
  expect_balance(*agent);
}

TEST_P(FlowWake, ASuccessorGetsTheUnfinishedMessagesOfItsPredecessor) {
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("two_lives", 0);
  ASSERT_TRUE(board<WakeBoard>().waiting.await(1, patience()));
  send_numbered(*agent, peer_of(*agent, "two-lives"), 1, kEarly);
  troupe().wait_all(patience());
  troupe().start("two_lives", 1);
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Takes all messages into its inbox and hands none out.
BEELINE_ROLE(hoards) {
  auto& board = context.board<WakeBoard>();
  auto agent = attach("hoarder");
  ASSERT_TRUE(agent);
  board.waiting.raise();
  if (context.number == 0) {
    ASSERT_NO_FATAL_FAILURE(await_queued(*agent, kEarly));
    EXPECT_EQ(agent->inbox().size(), kEarly);
    board.received.raise();
    ASSERT_TRUE(board.go.await(1, patience()));
    return;
  }
  ASSERT_NO_FATAL_FAILURE(take_numbered(*agent, 1, kEarly));
  expect_balance(*agent);
}

TEST_P(FlowWake, AnInboxOutlivesItsSenderAndThenItsReceiver) {
  auto& shared = board<WakeBoard>();
  troupe().start("hoards", 0);
  ASSERT_TRUE(shared.waiting.await(1, patience()));
  {
    auto agent = attach("sender");
    ASSERT_TRUE(agent);
    send_numbered(*agent, peer_of(*agent, "hoarder"), 1, kEarly);
    ASSERT_TRUE(shared.received.await(1, patience()));
    EXPECT_EQ(agent->detach(patience()), 0U);
  }
  shared.go.raise();
  troupe().wait_all(patience());
  troupe().start("hoards", 1);
  troupe().wait_all(patience());
}

}  // namespace
}  // namespace beeline::test
