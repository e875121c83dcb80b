// beeline history, log, tail, trace.

#include <algorithm>
#include <optional>

#include <beeline/agent.h>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliHistory : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    (void)good({"up"});
  }

  static Agent attach(const std::string& name, bool temporary = false) {
    AttachOptions options;
    options.name = name;
    options.temporary = temporary;
    auto agent = Agent::attach(options);
    EXPECT_TRUE(agent) << agent.error().text;
    return std::move(*agent);
  }
  static Message take(Agent& agent) {
    auto message = agent.receive({.timeout = std::chrono::seconds(60)});
    EXPECT_TRUE(message) << message.error().text;
    return std::move(*message);
  }
  static SendOptions of_type(std::string_view type) {
    SendOptions options;
    options.type = type;
    return options;
  }
  // Waits until this agent records: it looks at the word when it takes a turn.
  static void await_recording(Agent& agent) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (good_json({"history"}).at("kept") == 0 && std::chrono::steady_clock::now() < end) {
      (void)agent.try_receive();
      ::usleep(5000);
    }
    (void)agent.try_receive();
  }
  static std::vector<std::string> events_of(const json& lines, const std::string& id = "") {
    std::vector<std::string> events;
    for (const json& line : lines) {
      if (line.contains("event") && (id.empty() || line.at("id") == id))
        events.push_back(line.at("event"));
    }
    return events;
  }
};

using Words = std::vector<std::string>;

TEST_F(CliHistory, ItIsOffUntilItIsSwitchedOnAndSaysHow) {
  EXPECT_EQ(good_json({"history"}).at("history"), "off");
  EXPECT_NE(bad(1, {"tail"}).find("beeline history on"), std::string::npos);
  EXPECT_NE(bad(4, {"log", "worker"}).find("beeline history on"), std::string::npos);
  EXPECT_NE(bad(1, {"trace", "3:1"}).find("beeline history on"), std::string::npos);
  EXPECT_EQ(good_json({"history", "on"}).at("history"), "headers");
  EXPECT_EQ(good_json({"history", "on", "--previews"}).at("history"), "previews");
  EXPECT_EQ(good_json({"history", "off"}).at("history"), "off");
  (void)bad(2, {"history", "off", "--previews"});
  (void)bad(2, {"history", "maybe"});
  (void)bad(2, {"trace", "nonsense"});
}

TEST_F(CliHistory, AMessageLeavesItsRowsWithBothAgentsAlsoAfterTheirEnd) {
  (void)good({"history", "on", "--previews"});
  std::string id;
  {
    Agent worker = attach("worker", true);
    Agent queen = attach("queen", true);
    const auto to = queen.peer("worker");
    ASSERT_TRUE(to);
    const SendResult sent = queen.send(*to, "6 * 7", of_type("task"));
    ASSERT_TRUE(sent);
    id = id_text(sent.id);
    take(worker).done();
    ASSERT_TRUE(queen.send(*to, "no", of_type("task")));
    take(worker).reject();
  }
  const json queen = good_json({"log", "queen"});
  EXPECT_EQ(events_of(queen), Words({"sent", "sent"}));
  EXPECT_EQ(queen[0].at("preview"), "6 * 7");
  EXPECT_EQ(queen[0].at("type"), "task");
  EXPECT_EQ(queen[0].at("to_name"), "worker");
  const json worker = good_json({"log", "worker"});
  EXPECT_EQ(events_of(worker, id), Words({"taken", "done"}));
  EXPECT_EQ(events_of(worker).size(), 4U);
  const json trace = good_json({"trace", id});
  EXPECT_EQ(events_of(trace), Words({"sent", "taken", "done"}));
  EXPECT_NE(good({"log", "worker"}).find("rejected"), std::string::npos);
}

TEST_F(CliHistory, ATraceShowsWhatCameOfAMessageAndWhatLedToIt) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  Agent helper = attach("helper");
  const SendResult first = queen.send(*queen.peer("worker"), "job");
  ASSERT_TRUE(first);
  SendResult second;
  {
    Message job = take(worker);
    second = worker.send(*worker.peer("helper"), "part");
    ASSERT_TRUE(second);
    job.done();
  }
  take(helper).done();
  for (const SendResult& each : {first, second}) {
    const json trace = good_json({"trace", id_text(each.id)});
    EXPECT_EQ(events_of(trace), Words({"sent", "taken", "done", "sent", "taken", "done"}));
    EXPECT_EQ(trace.front().at("depth"), 0);
    EXPECT_EQ(trace.back().at("depth"), 1);
    EXPECT_EQ(trace.back().at("cause"), id_text(first.id));
  }
}

TEST_F(CliHistory, AnAgentThatRunsFollowsTheSwitch) {
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  ASSERT_TRUE(queen.send(*to, "before"));
  take(worker).done();
  EXPECT_EQ(good_json({"history"}).at("kept"), 0);
  (void)good({"history", "on"});
  await_recording(worker);
  await_recording(queen);
  ::usleep(10'000);
  ASSERT_TRUE(queen.send(*to, "x"));  // a call that may look at the word only afterwards
  take(worker).done();
  ::usleep(10'000);
  ASSERT_TRUE(queen.send(*to, "after"));
  take(worker).done();
  const json log = good_json({"log", "queen"});
  EXPECT_GE(events_of(log).size(), 1U);
  (void)good({"history", "off"});
  ::usleep(10'000);
  (void)worker.try_receive();
  (void)queen.try_receive();
  const std::size_t before = events_of(good_json({"log", "worker"})).size();
  ASSERT_TRUE(queen.send(*to, "unseen"));
  take(worker).done();
  EXPECT_EQ(events_of(good_json({"log", "worker"})).size(), before);
}

TEST_F(CliHistory, ItSurvivesTheCoordinator) {
  (void)good({"history", "on"});
  {
    Agent worker = attach("worker", true);
    Agent queen = attach("queen", true);
    ASSERT_TRUE(queen.send(*queen.peer("worker"), "job"));
    take(worker).done();
  }
  const int coordinator = good_json({"status"}).at("coordinator_pid");
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (good_json({"status"}).at("coordinator_pid") == coordinator) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    ::usleep(2000);
  }
  const json state = good_json({"history"});
  EXPECT_EQ(state.at("history"), "headers");
  EXPECT_EQ(state.at("kept"), 2);
  EXPECT_EQ(events_of(good_json({"log", "worker"})), Words({"taken", "done"}));
}

TEST_F(CliHistory, ALogSaysHowManyRowsWereWrittenOver) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  for (int i = 0; i < 1100; ++i) {
    ASSERT_TRUE(queen.send(*to, "x"));
    take(worker).done();
  }
  const json queen_log = good_json({"log", "queen"});
  const auto gap = std::find_if(queen_log.begin(), queen_log.end(),
                                [](const json& line) { return line.contains("lost"); });
  ASSERT_NE(gap, queen_log.end());
  EXPECT_EQ(gap->at("lost"), 1100 - 1024);
  EXPECT_EQ(events_of(queen_log).size(), 1024U);
  EXPECT_NE(good({"log", "queen"}).find("76 rows of queen (sent)"), std::string::npos);
}

TEST_F(CliHistory, TailPrintsRowsAsTheyComeAndFiltersThem) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  ASSERT_TRUE(to);
  Program tail(with_program({"tail", "--json", "--to", "worker", "--type", "wanted"}));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // It leaves out all rows before its start.
  while (tail.out().find("\"event\":\"done\"") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << tail.out();
    ASSERT_TRUE(queen.send(*to, "x", of_type("wanted")));
    take(worker).done();
    ASSERT_TRUE(queen.send(*to, "x", of_type("other")));
    take(worker).done();
    ::usleep(20'000);
  }
  tail.signal(SIGINT);
  const Outcome outcome = tail.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("other"), std::string::npos);
  EXPECT_NE(outcome.out.find("\"from_name\":\"queen\""), std::string::npos);
}

}  // namespace
}  // namespace beeline::test
