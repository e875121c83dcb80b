// Rate limits: how much an agent sends to a peer, and how much it takes from one.

#include <cstring>
#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

// No second token comes during a test.
constexpr double kHardlyEver = 0.001;

struct RateBoard {
  Event attached;
  Event stop;
};

class FlowRate : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowRate);

// Takes all messages until it is told to stop; numbered ones come in order.
BEELINE_ROLE(taker) {
  auto& board = context.board<RateBoard>();
  auto agent = attach("taker-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    message.done();
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRate, HK_042_ASendBeyondTheRateIsRefused) {
  AttachOptions options = named("sender");
  options.send_rate = kHardlyEver;
  options.send_burst = 3;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("taker", 0);
  troupe().start("taker", 1);
  ASSERT_TRUE(board<RateBoard>().attached.await(2, patience()));
  const Peer to = peer_of(*agent, "taker-0");
  EXPECT_TRUE(agent->send(to, "1"));
  EXPECT_TRUE(agent->send_until(to, "2", patience()));
  auto loan = agent->loan(to, 1);
  ASSERT_TRUE(loan);
  std::memset(loan->bytes().data(), '3', 1);
  EXPECT_TRUE(agent->send(*loan)) << "the last token";

  EXPECT_EQ(agent->send(to, "4").status, SendStatus::kRateLimited);
  EXPECT_EQ(to_string(SendStatus::kRateLimited), "rate_limited");
  EXPECT_EQ(agent->send_until(to, "4", after(1ms)).status, SendStatus::kRateLimited);
  auto again = agent->loan(to, 1);
  ASSERT_TRUE(again) << "memory is not what is limited";
  EXPECT_EQ(agent->send(*again).status, SendStatus::kRateLimited);
  EXPECT_EQ(agent->send_until(*again, after(1ms)).status, SendStatus::kRateLimited);
  EXPECT_TRUE(again->valid());
  SharedSender shared = agent->shared_sender();
  EXPECT_EQ(shared.send(to, "4").status, SendStatus::kRateLimited);
  EXPECT_EQ(shared.send(to, "4", {}, after(1ms)).status, SendStatus::kRateLimited);
  const auto answer = agent->request(to, "4", after(1ms));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kFull);
  EXPECT_NE(answer.error().text.find("rate_limited"), std::string::npos) << answer.error().text;

  // Limits are per pair: the other pair has all its tokens.
  for (const char* status : {"ok", "ok", "ok", "rate_limited"}) {
    const auto deliveries = agent->broadcast(Group::role("worker"), "5");
    ASSERT_EQ(deliveries.size(), 2U);
    for (const Delivery& each : deliveries) {
      EXPECT_EQ(to_string(each.result.status), each.pid == to.pid ? "rate_limited" : status);
    }
  }
  auto stopper = attach("stopper");
  ASSERT_TRUE(stopper);
  for (const char* name : {"taker-0", "taker-1"}) {
    EXPECT_TRUE(stopper->send(name, "", {.type = "stop"}));
  }
  troupe().wait_all(patience());
}

TEST_P(FlowRate, ASendThatWaitsGetsTheNextToken) {
  AttachOptions options = named("sender");
  options.send_rate = 200;
  options.send_burst = 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("taker", 0);
  const Peer to = peer_of(*agent, "taker-0");
  SharedSender shared = agent->shared_sender();
  const Deadline deadline = patience();  // one deadline for all, because a missed token would cost
                                         // seconds
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(agent->send_until(to, "bytes", deadline)) << i;
    auto loan = agent->loan(to, 1);
    ASSERT_TRUE(loan);
    ASSERT_TRUE(agent->send_until(*loan, deadline)) << i;
    ASSERT_TRUE(shared.send(to, "of a thread", {}, deadline)) << i;
  }
  ASSERT_TRUE(agent->send_until(to, "", deadline, {.type = "stop"}));
  troupe().wait_all(patience());
}

TEST_P(FlowRate, AWaitForATokenEndsWithTheReceiver) {
  AttachOptions options = named("sender");
  options.send_rate = kHardlyEver;
  options.send_burst = 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  AttachOptions brief = named("brief");
  brief.temporary = true;
  auto other = attach(brief);
  ASSERT_TRUE(other);
  const Peer to = peer_of(*agent, "brief");
  EXPECT_TRUE(agent->send(to, "1"));
  EXPECT_EQ(agent->send(to, "2").status, SendStatus::kRateLimited);
  other.reset();
  EXPECT_EQ(agent->send_until(to, "2", patience()).status, SendStatus::kPeerDead);
}

// ---- The receiver's side ------------------------------------------------------------------------

// Fills the receiver's link, then sends one critical message and stays until it is told to go.
BEELINE_ROLE(flooder) {
  auto& board = context.board<RateBoard>();
  AttachOptions options = named("flooder");
  options.normal_slots = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "guarded");
  // The receiver takes four; sixteen stay in the lane.
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(agent->send_until(to, std::to_string(i), patience())) << i;
  }
  EXPECT_EQ(agent->send(to, "21").status, SendStatus::kFull);
  EXPECT_EQ(agent->send_until(to, "21", after(5ms)).status, SendStatus::kFull);
  EXPECT_TRUE(agent->send(to, "now", {.rank = kCritical}));
  board.attached.raise();
  ASSERT_TRUE(board.stop.await(1, patience()));
}

void expect_guard(Order order, Event& sent, Event& stop) {
  AttachOptions options = named("guarded");
  options.order = order;
  options.receive_rate = kHardlyEver;
  options.receive_burst = 4;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  for (const char* text : {"1", "2", "3", "4", "now"}) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), text);
    message.done();
  }
  ASSERT_TRUE(sent.await(1, patience()));
  EXPECT_FALSE(agent->try_receive());
  EXPECT_FALSE(agent->receive({.timeout = 5ms}));
  EXPECT_EQ(agent->counters().drained, 5U);
  stop.raise();
}

TEST_P(FlowRate, TheReceiverTakesAtItsRateAndTheSenderFindsTheLinkFull) {
  troupe().start("flooder");
  auto& shared = board<RateBoard>();
  expect_guard(Order::kAged, shared.attached, shared.stop);
  troupe().wait_all(patience());
}

TEST_P(FlowRate, AFifoInboxLetsCriticalMessagesOvertakeHeldBackOnes) {
  troupe().start("flooder");
  auto& shared = board<RateBoard>();
  expect_guard(Order::kFifo, shared.attached, shared.stop);
  troupe().wait_all(patience());
}

constexpr int kNumbered = 16;

// Fills a lane, and has gone when the receiver begins: nobody rings the receiver.
BEELINE_ROLE(numberer) {
  auto& board = context.board<RateBoard>();
  auto agent = attach("numberer");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "guarded");
  for (int i = 1; i <= kNumbered; ++i) ASSERT_TRUE(agent->send(to, std::to_string(i)));
  board.attached.raise();
}

AttachOptions guarded(double rate) {
  AttachOptions options = named("guarded");
  options.receive_rate = rate;
  options.receive_burst = 1;
  return options;
}

TEST_P(FlowRate, AReceiverThatSleepsWakesForTheNextToken) {
  auto agent = attach(guarded(50));
  ASSERT_TRUE(agent);
  troupe().start("numberer");
  ASSERT_TRUE(board<RateBoard>().attached.await(1, patience()));
  // One deadline for all: if a sleep ignored the time of the token, the sleeps would add up to
  // minutes.
  const Deadline deadline = patience();
  for (int i = 1; i <= kNumbered; ++i) {
    auto message = agent->receive({.timeout = deadline - std::chrono::steady_clock::now()});
    ASSERT_TRUE(message) << i << ": " << message.error().text;
    EXPECT_EQ(message->text(), std::to_string(i));
    message->done();
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(FlowRate, TheFdOfAReceiverBecomesReadableForTheNextToken) {
  auto agent = attach(guarded(50));
  ASSERT_TRUE(agent);
  const int fd = agent->fd();
  troupe().start("numberer");
  ASSERT_TRUE(board<RateBoard>().attached.await(1, patience()));
  for (int i = 1; i <= kNumbered;) {
    ASSERT_TRUE(os::wait_readable(fd, kPatience)) << i;
    for (; auto message = agent->try_receive(); ++i) {
      EXPECT_EQ(message->text(), std::to_string(i));
      message->done();
    }
    while (agent->next_notice()) {
    }
  }
  troupe().wait_all(patience());
  EXPECT_FALSE(agent->try_receive());
  expect_balance(*agent);
}

BEELINE_ROLE(long_numberer) {
  AttachOptions options = named("numberer");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "guarded");
  bool was_full = false;
  for (int i = 1; i <= 100; ++i) {
    SendResult sent = agent->send(to, std::to_string(i));
    if (sent.status == SendStatus::kFull) {
      was_full = true;
      sent = agent->send_until(to, std::to_string(i), patience());
    }
    ASSERT_TRUE(sent) << i << ": " << to_string(sent.status);
  }
  EXPECT_TRUE(was_full);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowRate, NothingIsLostBeyondTheRate) {
  AttachOptions options = guarded(100);
  options.receive_burst = 4;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("long_numberer");
  for (int i = 1; i <= 100; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << i;
    EXPECT_EQ(message.text(), std::to_string(i));
    message.done();
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

// Sends as much as the receiver takes at once, then a critical message, and ends.
BEELINE_ROLE(restless) {
  AttachOptions options = named("restless");
  options.temporary = context.number % 2 != 0;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "guarded");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(agent->send(to, "data"));
  ASSERT_TRUE(agent->send(to, "now", {.rank = kCritical, .type = "now"}));
}

// A temporary agent is a new one of the same name each time; otherwise it is the next life of one.
TEST_P(FlowRate, AnAgentThatReturnsUnderItsNameFindsTheRateAsItWasLeft) {
  for (const std::uint32_t temporary : {1U, 0U}) {
    AttachOptions options = named("guarded");
    options.temporary = true;
    options.receive_rate = kHardlyEver;
    options.receive_burst = 4;
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    for (int life = 0; life < 2; ++life) {
      const std::size_t place = troupe().start("restless", temporary);
      Message now = next_message(*agent, {.type = "now"});
      ASSERT_TRUE(now.valid());
      now.done();
      for (int i = 0; i < 4 && life == 0; ++i) next_message(*agent).done();
      troupe().wait(place, patience());
    }
    EXPECT_FALSE(agent->try_receive());
    EXPECT_EQ(agent->counters().drained, 6U) << "four of the first life, and what is critical";
    expect_balance(*agent);
  }
}

TEST_P(FlowRate, ANewLifeOfTheReceiverTakesAWholeBurstAgain) {
  AttachOptions options = named("guarded");
  options.receive_rate = kHardlyEver;
  options.receive_burst = 4;
  for (int life = 1; life <= 2; ++life) {
    auto agent = attach(options);
    ASSERT_TRUE(agent);
    const std::size_t place = troupe().start("restless");
    for (int i = 0; i < 5; ++i) next_message(*agent).done();
    troupe().wait(place, patience());
    EXPECT_EQ(agent->counters().drained, 5U * life);
  }
}

TEST_P(FlowRate, ARateThatIsNoneIsRefusedWithItsLimits) {
  const auto refused = [](AttachOptions options, const char* which) {
    const auto agent = Agent::attach(options);
    ASSERT_FALSE(agent);
    EXPECT_EQ(agent.error().code, ErrorCode::kInvalid);
    EXPECT_NE(agent.error().text.find(which), std::string::npos) << agent.error().text;
    EXPECT_NE(agent.error().text.find("1000000"), std::string::npos) << agent.error().text;
  };
  AttachOptions options = named("nobody");
  options.send_rate = -1;
  refused(options, "send_rate");
  options = named("nobody");
  options.receive_rate = 2e6;
  refused(options, "receive_rate");
  options = named("nobody");
  options.receive_rate = 10;
  options.receive_burst = 1'000'001;
  refused(options, "receive_burst");
}

}  // namespace
}  // namespace beeline::test
