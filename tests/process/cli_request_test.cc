// beeline request: the fate of the message if the wait ends without a reply.

#include <signal.h>

#include <string>
#include <thread>

#include <beeline/agent.h>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

constexpr std::chrono::seconds kPatience(60);

// The receiver is an agent of this process.
class CliRequest : public CliTest {
 protected:
  static Agent worker() {
    AttachOptions options;
    options.name = "worker";
    auto agent = Agent::attach(options);
    EXPECT_TRUE(agent) << agent.error().text;
    return std::move(*agent);
  }
  static std::vector<std::string> request(const std::string& timeout) {
    return {"request", "worker", "work", "--timeout", timeout};
  }
};

TEST_F(CliRequest, AtTheDeadlineTheMessageIsTakenBack) {
  (void)good({"up"});
  // The receiver looks at its inbox and selects another message.
  Program other(with_program({"recv", "worker", "--type", "other"}));
  wait_for_agent("worker");
  const std::string told = bad(5, request("200ms"));
  EXPECT_TRUE(contains(told, "no reply from \"worker\" within ")) << told;
  EXPECT_TRUE(contains(told, "it was taken back: it is a dead letter of \"worker\" now")) << told;
  other.signal(SIGTERM);
  (void)other.wait();
  EXPECT_TRUE(contains(good({"dlq", "ls"}), "cancelled"));
}

TEST_F(CliRequest, WithLeaveItStays) {
  (void)good({"up"});
  make_away("worker");
  auto words = request("100ms");
  words.emplace_back("--leave");
  const std::string told = bad(5, words);
  EXPECT_TRUE(contains(told, "it stays with \"worker\"")) << told;
  EXPECT_EQ(good({"recv", "worker", "--count", "1", "--timeout", "60s"}), "work\n");
}

TEST_F(CliRequest, OneWithoutAProcessDoesNotGetItInItsNextLife) {
  (void)good({"up"});
  make_away("worker");
  const std::string told = bad(5, request("100ms"));
  EXPECT_TRUE(contains(told, "\"worker\" has no process since ")) << told;
  Agent next = worker();
  EXPECT_FALSE(next.receive({.timeout = std::chrono::milliseconds(50)}));
  EXPECT_EQ(next.counters().dead, 1U);
}

TEST_F(CliRequest, AfterASignalTheHolderOfTheMessageIsTold) {
  (void)good({"up"});
  Agent agent = worker();
  Program asking(with_program(request("60s")));
  auto message = agent.receive({.timeout = kPatience});
  ASSERT_TRUE(message) << message.error().text;
  EXPECT_FALSE(message->cancelled());
  asking.signal(SIGINT);
  const Outcome outcome = asking.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "stopped by a signal: it has been in the inbox of \"worker\" "))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, " s; an order to give it back was sent")) << outcome.err;
  EXPECT_TRUE(message->cancelled());
  message->reject();
}

TEST_F(CliRequest, ASignalEndsTheWaitForItsReceiverToo) {
  (void)good({"up"});
  auto observer = Agent::attach({.name = "observer"});
  ASSERT_TRUE(observer) << observer.error().text;
  Program asking(with_program({"request", "worker", "work", "--as", "asker", "--timeout", "60s"}));
  ASSERT_TRUE(observer->wait_for("asker", after(kPatience)));
  for (bool waits = false; !waits; std::this_thread::yield()) {
    const auto asker = observer->find("asker");
    ASSERT_TRUE(asker && asker->state != State::kZombie);
    waits = asker->state == State::kBlocked;
  }
  asking.signal(SIGINT);
  const Outcome outcome = asking.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "stopped by a signal: nothing was sent")) << outcome.err;
}

TEST_F(CliRequest, AReplyThatComesWhileItIsTakenBackCounts) {
  (void)good({"up"});
  Agent agent = worker();
  Program asking(with_program(request("60s")));
  auto message = agent.receive({.timeout = kPatience});
  ASSERT_TRUE(message) << message.error().text;
  asking.signal(SIGINT);
  const Deadline end = after(kPatience);
  while (!message->cancelled() && std::chrono::steady_clock::now() < end) {
  }
  message->done("ready");
  const Outcome outcome = asking.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "ready\n");
}

TEST_F(CliRequest, ARequestThatIsFinishedWithoutAnAnswerFailsAtOnce) {
  (void)good({"up"});
  Program taking(with_program({"recv", "worker", "--count", "1"}));
  wait_for_agent("worker");
  const std::string told = bad(1, request("60s"));
  EXPECT_TRUE(contains(told, "the receiver finished it without an answer")) << told;
  EXPECT_EQ(taking.wait().code, 0);
}

TEST_F(CliRequest, ACommandThatFailsIsTriedAgainAfterAPause) {
  (void)good({"up"});
  Program failing(with_program({"reply", "worker", "--command", "exit 3", "--retry-pause", "1ms"}));
  wait_for_agent("worker");
  const std::string told = bad(1, request("60s"));
  EXPECT_TRUE(contains(told, "the receiver made it a dead letter: exhausted")) << told;
  failing.signal(SIGTERM);
  (void)failing.wait();
}

}  // namespace
}  // namespace beeline::test
