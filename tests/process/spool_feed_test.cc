// `beeline spool feed`: a folder as a source of work for an agent.

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <beeline/agent.h>
#include <beeline/spool.h>

#include "tests/process/cli_fixture.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

namespace fs = std::filesystem;

// Reads the id of the task, writes it to the ledger, answers.
constexpr auto kWork =
    "id=$(sed -n 's/^  \"id\": \"\\(.*\\)\",/\\1/p'); echo $id >> $LEDGER; echo did $id";

class SpoolFeed : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    box_ = folder_ + "/box";
    ledger_ = folder_ + "/ledger";
    ::setenv("DROVER_MAILBOX_DIR", box_.c_str(), 1);
    ::setenv("LEDGER", ledger_.c_str(), 1);
    good({"up"});
  }
  void TearDown() override {
    ::unsetenv("DROVER_MAILBOX_DIR");
    ::unsetenv("LEDGER");
    CliTest::TearDown();
  }

  // The folder as a feeder sees it.
  [[nodiscard]] spool::Spool open() const {
    auto spool = spool::Spool::open({.dir = box_, .worker = "spool@default", .process = -1});
    EXPECT_TRUE(spool) << spool.error().text;
    return std::move(*spool);
  }
  void put(std::size_t count, std::int64_t max_attempts = 100) const {
    spool::Spool spool = open();
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::int64_t>(i);
      const std::string id = "t" + std::to_string(i);
      ASSERT_TRUE(spool.put(
          {.id = id, .sequence_number = number, .max_attempts = max_attempts, .created_at = 1}));
    }
  }
  [[nodiscard]] std::size_t files(const char* folder) const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(box_ + "/" + folder), fs::directory_iterator()));
  }
  // How often the agent did each task.
  [[nodiscard]] std::map<std::string, int> done() const {
    std::map<std::string, int> times;
    std::ifstream file(ledger_);
    for (std::string id; file >> id;) ++times[id];
    return times;
  }
  template <typename Condition>
  static void await(Condition is_true) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_true()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      ::usleep(2000);
    }
  }
  void await_done(std::size_t tasks) const {
    await([&] { return done().size() >= tasks; });
  }
  // All tasks were done, and nothing else is in the folder.
  void expect_results(std::size_t tasks) const {
    EXPECT_EQ(files("outbox"), tasks);
    EXPECT_EQ(files("inbox") + files("processing") + files("failed"), 0U);
    EXPECT_EQ(done().size(), tasks);
  }
  static Program worker() {
    return Program(with_program({"reply", "worker", "--command", kWork, "--parallel", "2"}));
  }
  static Program feeder(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"spool", "feed", "--to", "worker", "--parallel", "5"};
    words.insert(words.end(), more.begin(), more.end());
    return Program(with_program(words));
  }
  static int end(Program& program, int signal) {
    program.signal(signal);
    return program.wait().code;
  }
  // This process as the agent.
  static Agent attach_worker() {
    auto agent = Agent::attach({.name = "worker", .start_coordinator = false});
    EXPECT_TRUE(agent) << agent.error().text;
    return std::move(*agent);
  }
  static Message next(Agent& agent) {
    auto message = agent.receive({.timeout = std::chrono::seconds(30)});
    EXPECT_TRUE(message) << message.error().text;
    return std::move(*message);
  }
  static void answer(Agent& agent, Message& message, std::string_view text) {
    EXPECT_TRUE(agent.reply(message, text));
    message.done();
  }
  // As if its feeder had been killed after it sent the request and before it wrote that down.
  // Returns an id below that of the request.
  [[nodiscard]] MessageId forget_request(const std::string& id) const {
    spool::Spool spool = open();
    auto claim = spool.held(id);
    json note = json::parse(claim->note());
    note.erase("message");  // not there if the kill was as early as that
    EXPECT_TRUE(claim->write_note(note.dump()));
    claim->keep();
    return parse_id(note.at("after").get<std::string>()).value_or(0);
  }

  std::string box_;
  std::string ledger_;
};

TEST_F(SpoolFeed, TheAnswersOfAnAgentThatComesLaterAreTheResults) {
  put(12);
  Program feed = feeder({"--once", "--json"});
  wait_for_agent("spool");
  EXPECT_EQ(files("inbox"), 12U) << "claimed for an agent that is not there";
  Program agent = worker();
  const Outcome fed = feed.wait();
  EXPECT_EQ(fed.code, 0) << fed.err;
  EXPECT_EQ(end(agent, SIGTERM), 0);
  EXPECT_EQ(json_lines(fed.out).size(), 12U);
  EXPECT_EQ(json_lines(fed.out).at(0).at("status"), "completed");
  EXPECT_EQ(open().find("t3")->completion->output, "did t3\n");
  expect_results(12);
}

TEST_F(SpoolFeed, AnAnswerMayNameItsVerdictOrAnError) {
  put(6);
  Program feed = feeder({"--once"});
  {
    Agent agent = attach_worker();
    for (const char* text :
         {R"({"output":["o"],"verdict":"pass","verdict_reason":"r"})", R"({"error":"no way"})",
          R"({"status":"failed","output":"why"})", R"({"other":1})"}) {
      Message message = next(agent);
      EXPECT_EQ(message.type(), kTaskRequest);
      SpoolFeed::answer(agent, message, text);
    }
    next(agent).done();
    next(agent).reject("not me");
    EXPECT_EQ(feed.wait().code, 0);
  }
  spool::Spool spool = open();
  const spool::Completion first = *spool.find("t0")->completion;
  EXPECT_EQ(first.verdict + first.verdict_reason + first.output, "passr[\"o\"]");
  EXPECT_EQ(spool.find("t1")->error->error, "no way");
  EXPECT_EQ(spool.find("t2")->error->error, "why");
  EXPECT_EQ(spool.find("t3")->completion->output, "{\"other\":1}");
  EXPECT_EQ(spool.find("t4")->completion->output, "");
  EXPECT_TRUE(contains(spool.find("t5")->error->error, "not me"));
}

TEST_F(SpoolFeed, ARequestThatIsLateIsTakenBack) {
  put(1, 2);
  Program feed = feeder({"--once", "--task-timeout", "100ms"});
  {
    Agent agent = attach_worker();
    Message first = next(agent);
    Message second = next(agent);  // the second attempt
    EXPECT_TRUE(contains(std::string(second.text()), "no answer within"));
    EXPECT_EQ(feed.wait().code, 0);
    EXPECT_TRUE(first.cancelled());
    EXPECT_TRUE(second.cancelled());
  }
  EXPECT_EQ(open().find("t0")->error->attempts, 2);
}

TEST_F(SpoolFeed, TheNextLifeFindsOutHowEachRequestHasEnded) {
  put(5);
  Agent agent = attach_worker();
  Program first = feeder();
  std::vector<Message> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(next(agent));
  const MessageId last = requests.back().id();
  EXPECT_EQ(end(first, SIGKILL), 128 + SIGKILL);
  answer(agent, requests[0], "zero");
  requests[1].done();
  requests[2].reject();
  (void)forget_request("t4");
  Program second = feeder();
  await([&] { return files("outbox") + files("failed") == 3; });
  EXPECT_EQ(files("failed"), 1U);
  EXPECT_EQ(end(second, SIGTERM), 0);
  answer(agent, requests[4], "four");
  (void)forget_request("t4");
  spool::Spool spool = open();
  ASSERT_TRUE(spool.put({.id = "t5"}));
  spool.try_claim()->keep();  // killed before it wrote a note
  Program third = feeder();
  Message message = next(agent);
  EXPECT_TRUE(contains(std::string(message.text()), "\"t5\"")) << "a request has come again";
  (void)end(third, SIGKILL);
  EXPECT_GT(forget_request("t5"), last) << "the dead letter t2 would be taken for it";
  message.done();
  Program fourth = feeder({"--once"});
  answer(agent, requests[3], "three");
  EXPECT_EQ(fourth.wait().code, 0);
  EXPECT_FALSE(agent.try_receive());
  EXPECT_TRUE(spool.find("t2")->error);
  for (const auto& [id, output] : std::map<std::string, std::string>{
           {"t0", "zero"}, {"t1", ""}, {"t3", "three"}, {"t4", "four"}, {"t5", ""}}) {
    EXPECT_EQ(spool.find(id)->completion->output, output) << id;
  }
}

TEST_F(SpoolFeed, ATaskWhoseHiveIsGoneIsGivenAgain) {
  put(1);
  Program feed = feeder();
  {
    Agent agent = attach_worker();
    const Message request = next(agent);
    good({"down"});
    EXPECT_EQ(feed.wait().code, 3);
  }
  EXPECT_EQ(files("processing"), 1U);
  good({"up"});
  Program again = feeder({"--once"});
  Agent agent = attach_worker();
  Message message = next(agent);
  EXPECT_TRUE(contains(std::string(message.text()), "may have acted on"));
  message.done("again");
  EXPECT_EQ(again.wait().code, 0);
  EXPECT_EQ(open().find("t0")->completion->output, "again");
}

TEST_F(SpoolFeed, KillsOfTheFeederRepeatNothingThatWasDone) {
  const std::size_t kills = is_soak() ? 60 : 12;
  const std::size_t tasks = kills * 4;
  put(tasks);
  std::minstd_rand random(32);
  Program agent = worker();
  for (std::size_t kill = 1; kill <= kills; ++kill) {
    Program feed = feeder();
    await_done(kill * 3);
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    (void)end(feed, kill % 4 == 0 ? SIGTERM : SIGKILL);
  }
  EXPECT_EQ(feeder({"--once"}).wait().code, 0);
  EXPECT_EQ(end(agent, SIGTERM), 0);
  expect_results(tasks);
  spool::Spool spool = open();
  for (const auto& [id, count] : done()) {
    EXPECT_EQ(count, 1) << id;
    EXPECT_EQ(spool.find(id)->completion->output, "did " + id + '\n');
  }
}

TEST_F(SpoolFeed, KillsOfTheAgentRepeatNoMoreThanItHadInHand) {
  const std::size_t kills = is_soak() ? 40 : 6;
  const std::size_t tasks = kills * 5;
  put(tasks);
  Program feed = feeder({"--once"});
  for (std::size_t kill = 1; kill <= kills; ++kill) {
    Program agent = worker();
    await_done(kill * 4);
    (void)end(agent, SIGKILL);
  }
  Program agent = worker();
  EXPECT_EQ(feed.wait().code, 0);
  EXPECT_EQ(end(agent, SIGTERM), 0);
  expect_results(tasks);
  std::size_t runs = 0;
  for (const auto& [id, count] : done()) runs += static_cast<std::size_t>(count);
  EXPECT_LE(runs, tasks + kills * 2);
}

}  // namespace
}  // namespace beeline::test
