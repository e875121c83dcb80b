// Full lanes and inboxes, and two agents that fill each other's.

#include <cstring>
#include <string>
#include <vector>

#include "src/os/event_fd.h"
#include "src/os/process.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct FullBoard {
  Event attached;
  Event drain;    // the test asks the receiver to drain into its inbox
  Event drained;  // the receiver has drained
  Event take;     // the test asks the receiver to take `expected` messages
  std::atomic<std::uint32_t> expected;
  std::atomic<std::uint64_t> queued;
};

class FlowFull : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowFull);

// Takes `count` messages; messages of one rank come in the order of their numbers.
void take_numbered(Agent& agent, std::uint32_t count) {
  std::uint64_t last[kLow] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    Message message = next_message(agent);
    ASSERT_TRUE(message.valid()) << "after " << i << " of " << count;
    const std::uint64_t number = std::stoull(std::string(message.text()));
    ASSERT_LT(last[message.rank()], number) << "after " << i;
    last[message.rank()] = number;
    message.done();
  }
  EXPECT_FALSE(agent.try_receive());
}

BEELINE_ROLE(slow_receiver) {
  auto& board = context.board<FullBoard>();
  AttachOptions options = named("slow");
  options.inbox_capacity = 64;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  for (std::uint32_t round = 1; board.take.count() == 0; ++round) {
    ASSERT_TRUE(board.drain.await(round, patience()));
    if (board.take.count() != 0) break;
    drain_what_fits(*agent);
    board.queued.store(agent->counters().queued);
    board.drained.raise();
  }
  ASSERT_NO_FATAL_FAILURE(take_numbered(*agent, board.expected.load()));
  expect_balance(*agent);
}

class Numbered {
 public:
  Numbered(Agent& agent, Peer to) : agent_(&agent), to_(to) {}
  SendStatus send(std::int32_t rank = kNormal) {
    return count(agent_->send(to_, std::to_string(next_), {.rank = rank}));
  }
  SendStatus send_until(Deadline deadline) {
    return count(agent_->send_until(to_, std::to_string(next_), deadline));
  }
  // Sends until a send fails; returns how many succeeded.
  std::uint32_t fill(std::int32_t rank = kNormal) {
    const std::uint32_t before = sent_;
    SendStatus status = SendStatus::kOk;
    while (status == SendStatus::kOk) status = send(rank);
    EXPECT_EQ(status, SendStatus::kFull) << to_string(status);
    return sent_ - before;
  }
  [[nodiscard]] std::uint32_t sent() const { return sent_; }

 private:
  SendStatus count(const SendResult& result) {
    if (result) ++sent_, ++next_;
    return result.status;
  }
  Agent* agent_;
  Peer to_;
  std::uint64_t next_ = 1;
  std::uint32_t sent_ = 0;
};

TEST_P(FlowFull, ALaneIsFullExactlyAtItsCapacity) {
  auto& shared = board<FullBoard>();
  AttachOptions options = named("sender");
  options.normal_slots = 8;
  options.urgent_slots = 4;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("slow_receiver");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  Numbered numbers(*agent, peer_of(*agent, "slow"));
  EXPECT_EQ(numbers.fill(), 8U);
  EXPECT_EQ(numbers.fill(kCritical), 3U) << "the last quarter is for control messages";
  EXPECT_EQ(numbers.send(), SendStatus::kFull);
  EXPECT_EQ(numbers.send_until(after(1ms)), SendStatus::kFull);

  shared.drain.raise();
  ASSERT_EQ(numbers.send_until(patience()), SendStatus::kOk);
  ASSERT_TRUE(shared.drained.await(1, patience()));
  EXPECT_GE(shared.queued.load(), 11U) << "the last one may have come after the look";
  shared.expected.store(numbers.sent());
  shared.take.raise();
  shared.drain.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFull, ASenderThatNeverWaitsSeesTheSpaceThatTheReceiverMakes) {
  auto& shared = board<FullBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("slow_receiver");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  Numbered numbers(*agent, peer_of(*agent, "slow"));
  EXPECT_EQ(numbers.fill(), 256U);
  shared.expected.store(1000);
  shared.take.raise();
  shared.drain.raise();
  const Deadline deadline = patience();
  while (numbers.sent() < 1000) {
    if (numbers.send() == SendStatus::kOk) continue;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "after " << numbers.sent();
    os::yield();
  }
  troupe().wait_all(patience());
}

// Sends a request, and then takes nothing until it is told to.
BEELINE_ROLE(asker) {
  auto& board = context.board<FullBoard>();
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(peer_of(*agent, "answerer"), "how many?"));
  ASSERT_TRUE(board.take.await(1, patience()));
  const std::uint32_t numbered = board.expected.load();
  for (std::uint32_t i = 0; i < numbered; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    message.done();
  }
  for (const char* wanted : {"a loan", "an answer"}) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.text(), wanted);
    message.done();
  }
}

TEST_P(FlowFull, ALoanAndAReplyWaitForSpaceUntilTheirDeadline) {
  auto& shared = board<FullBoard>();
  AttachOptions options = named("answerer");
  options.normal_slots = 8;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  troupe().start("asker");
  Message question = next_message(*agent);
  ASSERT_TRUE(question.valid());
  const Peer asker = peer_of(*agent, "asker");
  Numbered numbers(*agent, asker);
  shared.expected.store(numbers.fill());

  auto loan = agent->loan(asker, 6);
  ASSERT_TRUE(loan);
  std::memcpy(loan->bytes().data(), "a loan", 6);
  EXPECT_EQ(agent->send(*loan).status, SendStatus::kFull);
  EXPECT_EQ(agent->send_until(*loan, after(1ms)).status, SendStatus::kFull);
  EXPECT_EQ(agent->reply(question, "lost?").status, SendStatus::kFull);
  EXPECT_EQ(agent->reply_until(question, "lost?", after(1ms)).status, SendStatus::kFull);
  ASSERT_TRUE(loan->valid());

  shared.take.raise();
  EXPECT_TRUE(agent->send_until(*loan, patience()));
  EXPECT_FALSE(loan->valid());
  EXPECT_TRUE(agent->reply_until(question, "an answer", patience()));
  question.done();
  EXPECT_EQ(agent->detach(patience()), 0U);
  troupe().wait_all(patience());
}

TEST_P(FlowFull, AFullInboxStopsSendersButLetsCriticalMessagesIn) {
  auto& shared = board<FullBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  troupe().start("slow_receiver");
  ASSERT_TRUE(shared.attached.await(1, patience()));
  Numbered numbers(*agent, peer_of(*agent, "slow"));
  EXPECT_EQ(numbers.fill(), 256U);
  shared.drain.raise();
  ASSERT_TRUE(shared.drained.await(1, patience()));
  EXPECT_EQ(shared.queued.load(), 60U) << "64 entries, one in sixteen for critical messages";
  // The wait makes sure that the sender knows the receipts.
  ASSERT_EQ(numbers.send_until(patience()), SendStatus::kOk);
  EXPECT_EQ(numbers.fill(), 59U);
  shared.drain.raise();
  ASSERT_TRUE(shared.drained.await(2, patience()));
  EXPECT_EQ(shared.queued.load(), 60U);
  EXPECT_EQ(numbers.send(), SendStatus::kFull);

  EXPECT_EQ(numbers.fill(kCritical), 12U);
  shared.drain.raise();
  ASSERT_TRUE(shared.drained.await(3, patience()));
  EXPECT_EQ(shared.queued.load(), 63U) << "the reserved share is for them";
  EXPECT_EQ(numbers.fill(kCritical), 3U);
  EXPECT_EQ(numbers.send(), SendStatus::kFull);
  shared.expected.store(numbers.sent());
  shared.take.raise();
  shared.drain.raise();
  troupe().wait_all(patience());
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// ---- Waiting outside of the library -------------------------------------------------------------

enum class Freed : std::uint32_t { kByDone, kByReject, kByPurge, kWays };

void free_places(Agent& agent, std::vector<Message>& held, Freed how) {
  if (how == Freed::kByPurge) {
    EXPECT_GT(agent.purge_all_dead(), 0U);
    return;
  }
  for (Message& message : held) {
    if (how == Freed::kByDone) message.done();
    if (how == Freed::kByReject) message.reject();
  }
  held.clear();
}

// Repeats until the fd is quiet, because it may be readable for the coordinator's packets. No
// message comes.
void expect_nothing_to_take(Agent& agent) {
  do {
    EXPECT_FALSE(agent.try_receive());
  } while (os::wait_readable(agent.fd(), 0ns));
}

// Its tasks fill the table; number = how they end.
BEELINE_ROLE(loop_on_fd) {
  auto& board = context.board<FullBoard>();
  AttachOptions options = named("loop-" + std::to_string(context.number));
  options.inbox_capacity = 16;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const int fd = agent->fd();
  const auto how = static_cast<Freed>(context.number);
  board.attached.raise();
  ASSERT_TRUE(board.take.await(context.number + 1, patience()));
  std::uint32_t ended = 0;
  if (how == Freed::kByPurge) {
    for (; ended < 4; ++ended) next_message(*agent).reject();  // as many letters as an agent keeps
  }
  std::vector<Message> held;
  while (auto message = agent->try_receive()) held.push_back(std::move(*message));
  ended += static_cast<std::uint32_t>(held.size());
  ASSERT_NO_FATAL_FAILURE(expect_nothing_to_take(*agent));
  free_places(*agent, held, how);
  EXPECT_TRUE(os::wait_readable(fd, kPatience)) << "there is room for what lies in the lane";
  for (; ended < board.expected.load(); ++ended) {
    auto message = agent->try_receive();
    ASSERT_TRUE(message) << "after " << ended;
    message->done();
  }
  expect_balance(*agent);
}

TEST_P(FlowFull, AnAgentThatWaitsOnItsFdIsToldWhenItsTasksMakeRoom) {
  auto& shared = board<FullBoard>();
  auto agent = attach("sender");
  ASSERT_TRUE(agent);
  for (std::uint32_t how = 0; how < static_cast<std::uint32_t>(Freed::kWays); ++how) {
    const std::size_t loop = troupe().start("loop_on_fd", how);
    ASSERT_TRUE(shared.attached.await(how + 1, patience()));
    Numbered numbers(*agent, peer_of(*agent, "loop-" + std::to_string(how)));
    shared.expected.store(numbers.fill());
    shared.take.raise();
    troupe().wait(loop, patience());
  }
}

// ---- Each fills the other -----------------------------------------------------------------------

constexpr std::uint32_t kCrossed = 3000;  // more than a lane holds, less than an inbox

BEELINE_ROLE(crossed) {
  auto agent = attach("crossed-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer other = peer_of(*agent, "crossed-" + std::to_string(1 - context.number));
  for (std::uint32_t i = 1; i <= kCrossed; ++i) {
    ASSERT_EQ(agent->send_until(other, std::to_string(i), patience()).status, SendStatus::kOk) << i;
  }
  ASSERT_NO_FATAL_FAILURE(take_numbered(*agent, kCrossed));
  expect_balance(*agent);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFull, TwoAgentsThatFillEachOthersLanesDoNotBlock) {
  troupe().start("crossed", 0);
  troupe().start("crossed", 1);
  troupe().wait_all(patience());
}

// ---- Sends of many threads ----------------------------------------------------------------------

constexpr std::uint32_t kCrowd = 6;
constexpr std::uint32_t kFromEach = 2000;

struct CrowdBoard {
  Event finished;
};

BEELINE_ROLE(crowd) {
  auto& board = context.board<CrowdBoard>();
  auto agent = attach("crowd");
  ASSERT_TRUE(agent);
  // Nobody knows the hub's link back yet, which holds the receipts, and this thread will not learn
  // of it.
  const Peer hub = peer_of(*agent, "hub");
  SharedSender sender = agent->shared_sender();
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kCrowd; ++t) {
    threads.emplace_back([sender, hub, t]() mutable {
      for (std::uint32_t i = 1; i <= kFromEach; ++i) {
        const std::string text = std::to_string(t) + " " + std::to_string(i);
        const SendResult sent = sender.send(hub, text, {}, patience());
        ASSERT_EQ(sent.status, SendStatus::kOk) << to_string(sent.status);
      }
    });
  }
  // The owner's handler is busy meanwhile: it does not touch the library.
  EXPECT_TRUE(board.finished.await(1, patience()));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(FlowFull, ThreadsSendThroughAnAgentWhoseHandlerIsBusy) {
  auto agent = attach("hub");
  ASSERT_TRUE(agent);
  troupe().start("crowd");
  std::uint32_t last[kCrowd] = {};
  for (std::uint32_t i = 0; i < kCrowd * kFromEach; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "after " << i;
    std::uint32_t thread = 0;
    std::uint32_t number = 0;
    ASSERT_EQ(std::sscanf(std::string(message.text()).c_str(), "%u %u", &thread, &number), 2);
    ASSERT_LT(thread, kCrowd);
    ASSERT_EQ(number, last[thread] + 1);
    last[thread] = number;
    message.done();
  }
  board<CrowdBoard>().finished.raise();
  troupe().wait_all(patience());
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
