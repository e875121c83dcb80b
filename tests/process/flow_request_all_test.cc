// Several requests at once: each has its own result, in the order of the requests.

#include <string>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct AllBoard {
  Event taken;
};

class FlowRequestAll : public HiveTest {
 protected:
  void SetUp() override { start(GetParam(), 300s, sizeof(AllBoard)); }
};
BEELINE_BOTH_WORLDS(FlowRequestAll);

// Answers a number with the next one. Numbers with "later" are answered last, the newest first.
BEELINE_ROLE(counter) {
  auto agent = attach("counter-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  std::vector<Message> later;
  const auto handle = [&](Message& message) -> Ack {
    if (message.type() == kShutdownOrder) agent->stop_serving();
    if (message.text() == "nothing") return {};
    if (message.text() == "no") return {AckStatus::kRejected, "not today"};
    if (message.text() == "later") {
      later.push_back(std::move(message));
      return {AckStatus::kQueued, {}};
    }
    for (; !later.empty(); later.pop_back()) EXPECT_TRUE(agent->reply(later.back(), "late"));
    return {AckStatus::kAccepted, std::to_string(std::stoi(std::string(message.text())) + 1)};
  };
  EXPECT_TRUE(agent->serve(handle));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// Takes one request and dies while it holds it.
BEELINE_ROLE(mortal) {
  AttachOptions options = named("mortal");
  options.temporary = true;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  const Message question = next_message(*agent);
  context.board<AllBoard>().taken.raise();
}

// The answer, or the code of the error.
std::string said(const Result<Message>& result) {
  return std::string(result ? result->text() : to_string(result.error().code));
}

void expect_nothing_left(Agent& agent) {
  EXPECT_TRUE(agent.inbox().empty()) << "an answer ends with its destructor";
  EXPECT_TRUE(agent.drain_pending_results().empty());
  EXPECT_EQ(agent.counters().leased, 0U);
  expect_balance(agent);
}

TEST_P(FlowRequestAll, ResultsComeInTheOrderOfTheRequestsAndEachMayFailByItself) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < 2; ++i) troupe().start("counter", i);
  const Peer first = peer_of(*agent, "counter-0");
  ASSERT_TRUE(agent->wait_for("counter-1", patience()));
  {
    const auto results = agent->request_all({{first, "later"},
                                             {"counter-1", "7"},
                                             {"nobody", "?"},
                                             {first, "nothing"},
                                             {"counter-1", "no"},
                                             {first.pid, "later"},
                                             {first, std::string(65 << 20, 'x')},
                                             {first, "1", {.type = "number"}}},
                                            patience());
    std::vector<std::string> found;
    for (const auto& result : results) found.push_back(said(result));
    EXPECT_EQ(found, (std::vector<std::string>{"late", "8", "no_agent", "unanswered", "rejected",
                                               "late", "too_big", "2"}));
    EXPECT_NE(results[4].error().text.find("not today"), std::string::npos);
  }
  EXPECT_TRUE(agent->request_all({}, patience()).empty());
  expect_nothing_left(*agent);
  for (const char* name : {"counter-0", "counter-1"}) {
    EXPECT_TRUE(agent->send_control(name, kShutdownOrder));
  }
  troupe().wait_all(patience());
}

TEST_P(FlowRequestAll, AReceiverThatDiesFailsAloneAndAtOnce) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("counter");
  troupe().start("mortal");
  ASSERT_TRUE(agent->wait_for("counter-0", patience()) && agent->wait_for("mortal", patience()));
  const std::vector<Request> requests{
      {"mortal", "taken"}, {"counter-0", "1"}, {"mortal", "not taken"}, {"counter-0", "2"}};
  const auto results = agent->request_all(requests, patience());
  EXPECT_EQ(said(results[0]), "peer_dead_taken");
  EXPECT_EQ(said(results[1]), "2");
  EXPECT_FALSE(results[2]);
  EXPECT_EQ(said(results[3]), "3");
  EXPECT_TRUE(agent->send_control("counter-0", kShutdownOrder));
  troupe().wait_all(patience());
}

TEST_P(FlowRequestAll, AFullReceiverKeepsNoOtherWaitingAndMoreThanALaneHoldsAreSent) {
  auto sink = attach("sink");
  AttachOptions options = named("asker");
  options.normal_slots = 2;
  auto agent = attach(options);
  ASSERT_TRUE(sink && agent);
  troupe().start("counter");
  ASSERT_TRUE(agent->wait_for("counter-0", patience()));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(agent->send("sink", "in the way"));
  {
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) texts.push_back(std::to_string(i));
    std::vector<Request> requests{{"sink", "no room"}};
    for (const std::string& text : texts) requests.push_back({"counter-0", text});
    const auto results = agent->request_all(requests, after(2s));
    EXPECT_EQ(said(results[0]), "full") << "nobody takes anything there";
    for (int i = 0; i < 40; ++i) EXPECT_EQ(said(results[i + 1]), std::to_string(i + 1));
  }
  expect_nothing_left(*agent);
  EXPECT_TRUE(agent->send_control("counter-0", kShutdownOrder));
  troupe().wait_all(patience());
  EXPECT_EQ(take_texts(*sink).size(), 2U);
}

TEST_P(FlowRequestAll, OneDeadlineEndsAllThatWait) {
  auto sink = attach("sink");
  AttachOptions options = named("asker");
  options.send_rate = 0.001;
  options.send_burst = 3;
  auto agent = attach(options);
  ASSERT_TRUE(sink && agent);
  // Opens the link, which may take longer than the deadline below. Nothing is sent after the
  // deadline, so it has to be long enough for a process that waits for a CPU.
  ASSERT_TRUE(agent->send("sink", "0"));
  const SendOptions take_back{.cancel_on_timeout = true};
  const auto results =
      agent->request_all({{"sink", "1", take_back}, {"sink", "2"}, {"sink", "3"}}, after(1s));
  EXPECT_EQ(said(results[0]), "timeout");
  EXPECT_EQ(said(results[1]), "timeout");
  EXPECT_EQ(said(results[2]), "full") << "no more than two may be sent";
  EXPECT_EQ(take_texts(*sink), (std::vector<std::string>{"0", "2"})) << "\"1\" was taken back";
  EXPECT_EQ(agent->request_all({{"sink", "4"}}, Deadline::max())[0].error().code,
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace beeline::test
