// The pause before an unfinished message is handed out again.

#include <optional>
#include <string>

#include "src/agent/retries.h"
#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowRetry : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowRetry, testing::Values(World::kThreads), world_name);

std::optional<Agent> attach_patient(std::chrono::nanoseconds pause) {
  AttachOptions options = named("patient");
  options.retry_pause = pause;
  return attach(options);
}

TEST(Retries, APauseDoublesUpToALongestOne) {
  const Retries retries(100ms);
  EXPECT_EQ(retries.pause_ns(0), 100'000'000);
  EXPECT_EQ(retries.pause_ns(1), 200'000'000);
  EXPECT_EQ(retries.pause_ns(3), 800'000'000);
  EXPECT_EQ(retries.pause_ns(254), Retries::kLongest.count());
  EXPECT_EQ(Retries(1h).pause_ns(7), std::chrono::nanoseconds(1h).count());
}

TEST_P(FlowRetry, AMessageThatHasFailedWaitsAndOthersGoFirst) {
  auto agent = attach_patient(1h);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send("patient", "first"));
  ASSERT_TRUE(agent->send("patient", "second"));
  next_message(*agent).requeue();
  EXPECT_EQ(take_texts(*agent), std::vector<std::string>{"second"});
  EXPECT_FALSE(agent->try_receive());
  const InboxCounters counters = agent->counters();
  EXPECT_EQ(counters.leased, 1U);
  EXPECT_EQ(counters.queued, 0U);
  expect_balance(*agent);
}

TEST_P(FlowRetry, ItComesAgainByItselfUntilItIsADeadLetter) {
  auto agent = attach_patient(1ms);
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send("patient", "again"));
  for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.attempts(), attempt);
  }
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->counters().dead, 1U);
  expect_balance(*agent);
}

TEST_P(FlowRetry, TheFdIsReadableWhenItComesAgain) {
  auto agent = attach_patient(1ms);
  ASSERT_TRUE(agent);
  const int fd = agent->fd();
  ASSERT_TRUE(agent->send("patient", "again"));
  next_message(*agent).requeue();
  std::optional<Message> again;
  while (!(again = agent->try_receive())) ASSERT_TRUE(os::wait_readable(fd, kPatience));
  EXPECT_EQ(again->attempts(), 1U);
  again->done();
}

TEST_P(FlowRetry, AFailedMessageThatIsTakenBackMeanwhileEnds) {
  auto agent = attach_patient(1h);
  ASSERT_TRUE(agent);
  const Peer self = peer_of(*agent, "patient");
  const SendResult sent = agent->send(self, "in vain");
  ASSERT_TRUE(sent);
  next_message(*agent).requeue();
  ASSERT_TRUE(agent->cancel(self, sent.id));
  ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return agent->counters().dead == 1; }));
  expect_balance(*agent);
}

TEST_P(FlowRetry, ItsNextLifeHandsItOutAtOnce) {
  {
    auto agent = attach_patient(1h);
    ASSERT_TRUE(agent);
    ASSERT_TRUE(agent->send("patient", "again"));
    next_message(*agent).requeue();
  }
  auto agent = attach_patient(1h);
  ASSERT_TRUE(agent);
  Message message = next_message(*agent);
  ASSERT_TRUE(message.valid());
  EXPECT_TRUE(message.redelivered());
  message.done();
}

}  // namespace
}  // namespace beeline::test
