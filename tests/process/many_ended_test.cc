// Senders that each live for one message and leave their links to a receiver. The steps and
// descriptors of the receiver depend only on the links that are left. BEELINE_SOAK=1: more of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "src/agent/core.h"
#include "tests/support/hive_test.h"
#include "tests/support/program.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

void live_and_say(const std::string& text) {
  auto sender = attach({.temporary = true});
  ASSERT_TRUE(sender);
  ASSERT_TRUE(sender->send(peer_of(*sender, "sink"), text));
}

void live_and_count(std::size_t first, std::size_t behind) {
  for (std::size_t i = first; i < behind && !testing::Test::HasFatalFailure(); ++i) {
    live_and_say(std::to_string(i));
  }
}

// The table has room for all messages: with a full one, links that wait would be visited again.
AttachOptions sink_options() {
  AttachOptions options = named("sink");
  options.inbox_capacity = 8192;
  return options;
}

// Receives the messages of this many ended senders, and releases their links. Returns how many
// links were visited for that.
std::uint64_t visits_of(AgentCore& sink, const ScratchHive& hive, std::size_t senders) {
  for (std::size_t i = 0; i < senders; ++i) {
    auto message = sink.intake().receive({.timeout = kPatience});
    if (!message) {
      ADD_FAILURE() << message.error().text;
      return 0;
    }
    message->done();
  }
  const Deadline deadline = patience();
  while (hive.status().links != 0 && std::chrono::steady_clock::now() < deadline) {
    (void)sink.intake().receive({.timeout = 20ms});
  }
  EXPECT_EQ(hive.status().links, 0U);
  return sink.receiver().links().visits();
}

// How many links the next life of a receiver visits.
std::uint64_t visits_of_next_life(std::size_t senders) {
  ScratchHive hive;
  EXPECT_TRUE(Agent::attach(sink_options()));
  live_and_count(0, senders);
  const std::size_t fds_before = count_open_fds();
  auto sink = AgentCore::attach(sink_options());
  if (!sink) ADD_FAILURE() << sink.error().text;
  constexpr std::size_t kOwnFds = 16;
  EXPECT_LT(count_open_fds(), fds_before + senders + kOwnFds) << "one for each that has ended";
  EXPECT_EQ(hive.status().links, senders) << "nobody reads receipts for the dead";
  const std::uint64_t visits = sink ? visits_of(**sink, hive, senders) : 0;
  if (sink) (*sink)->detach(Deadline::min());
  sink = {};
  hive.close();
  return visits;
}

// The same for a life that looks at nothing while they come.
std::uint64_t visits_of_running_life(std::size_t senders) {
  ScratchHive hive;
  auto sink = AgentCore::attach(sink_options());
  if (!sink) ADD_FAILURE() << sink.error().text;
  live_and_count(0, senders);
  const std::uint64_t visits = sink ? visits_of(**sink, hive, senders) : 0;
  if (sink) (*sink)->detach(Deadline::min());
  sink = {};
  hive.close();
  return visits;
}

// Each link costs some visits; the rest is one look at 16 links for each tick of the clock. A loop
// over all links for each link would cost hundreds.
constexpr std::uint64_t kVisitsForEach = 64;

std::vector<std::size_t> counts() {
  if (is_soak()) return {1000, 6000};
  return {500, 2000};
}

TEST(ManyEndedSenders, CostTheNextLifeOfTheirReceiverStepsInProportion) {
  for (const std::size_t senders : counts()) {
    EXPECT_LT(visits_of_next_life(senders), kVisitsForEach * senders);
  }
}

TEST(ManyEndedSenders, CostARunningReceiverStepsInProportion) {
  for (const std::size_t senders : counts()) {
    EXPECT_LT(visits_of_running_life(senders), kVisitsForEach * senders);
  }
}

// A receiver with a limit of 256 open files that ends after this many messages.
std::vector<std::string> small_sink(std::size_t count) {
  return {"/bin/sh", "-c",
          "ulimit -n 256; exec \"$BEELINE_BIN/beeline\" recv sink --timeout 60s --count " +
              std::to_string(count)};
}

// Each of `count` numbers comes once.
void expect_all_once(const std::string& out, std::size_t count) {
  std::vector<std::size_t> numbers;
  std::istringstream lines(out);
  for (std::size_t number = 0; lines >> number;) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  ASSERT_EQ(numbers.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], i);
}

constexpr std::size_t kSenders = 400;  // each brings three descriptors

TEST(ManyEndedSenders, LeaveAReceiverTheLastOfItsDescriptors) {
  ScratchHive hive;
  {
    Program sink(small_sink(kSenders));
    {
      auto witness = attach({.temporary = true});
      ASSERT_TRUE(witness);
      (void)peer_of(*witness, "sink");  // the sink has attached
    }
    sink.signal(SIGSTOP);
    live_and_count(0, kSenders / 2);
    sink.signal(SIGCONT);
    live_and_count(kSenders / 2, kSenders);
    const Outcome outcome = sink.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_all_once(outcome.out, kSenders);
    EXPECT_EQ(hive.log().find("how=fenced"), std::string::npos);
  }
  hive.close();
}

TEST(ManyEndedSenders, CanBeReadByANextLifeWithFewerDescriptorsThanTheyAre) {
  ScratchHive hive;
  EXPECT_TRUE(Agent::attach(sink_options()));
  live_and_count(0, kSenders);
  const Outcome outcome = Program(small_sink(kSenders)).wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_all_once(outcome.out, kSenders);
  hive.close();
}

}  // namespace
}  // namespace beeline::test
