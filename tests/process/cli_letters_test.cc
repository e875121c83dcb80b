// beeline dlq.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include <beeline/agent.h>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliLetters : public CliTest {
 protected:
  // Waits until so many letters are listed.
  static json await_letters(std::size_t count, const std::vector<std::string>& words = {}) {
    std::vector<std::string> list = {"dlq", "ls"};
    list.insert(list.end(), words.begin(), words.end());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      json letters = good_json(list);
      if (letters.size() == count || std::chrono::steady_clock::now() > end) {
        EXPECT_EQ(letters.size(), count) << letters;
        return letters;
      }
      ::usleep(2000);
    }
  }

  // A temporary agent rejects the first `rejects` messages, leaves the others and ends.
  static void leave_letters(const std::string& name, const std::vector<std::string>& bodies,
                            std::size_t rejects) {
    AttachOptions options;
    options.name = name;
    options.temporary = true;
    auto agent = Agent::attach(options);
    ASSERT_TRUE(agent) << agent.error().text;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      (void)good({"send", name, "-", "--type", "job", "--channel", "jobs", "--rank", "high"},
                 bodies[i]);
      if (i >= rejects) continue;
      auto message = agent->receive({.timeout = std::chrono::seconds(60)});
      ASSERT_TRUE(message) << message.error().text;
      message->reject();
    }
  }
};

TEST_F(CliLetters, TextsThatAMessageCarriesAreShownInTheInboxAndOnALetter) {
  AttachOptions options;
  options.name = "talker";
  auto talker = Agent::attach(options);
  options.name = "sink";
  options.temporary = true;
  auto sink = Agent::attach(options);
  ASSERT_TRUE(talker && sink);
  const auto to = talker->peer("sink");
  ASSERT_TRUE(to);
  for (int i = 0; i < 300; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_TRUE(talker->send(*to, text, {.type = "type " + text, .channel = "channel " + text}));
    if (i == 299) break;  // stays in the lane
    auto message = sink->receive({.timeout = std::chrono::seconds(60)});
    ASSERT_TRUE(message) << message.error().text;
    i == 298 ? message->reject() : message->done();
  }
  const json inbox = good_json({"inbox", "sink"});
  ASSERT_EQ(inbox.size(), 2U);
  for (const json& line : inbox) {
    const auto number = line.at("preview").get<std::string>();
    EXPECT_EQ(line.at("type"), "type " + number);
    EXPECT_EQ(line.at("channel"), "channel " + number);
  }
  (void)sink->detach();
  for (const json& letter : await_letters(2)) {
    const auto id = letter.at("id").get<std::string>();
    const json shown = good_json({"dlq", "show", id});
    const auto number = shown.at("body").get<std::string>();
    EXPECT_EQ(shown.at("type"), "type " + number);
    EXPECT_EQ(shown.at("channel"), "channel " + number);
  }
}

TEST_F(CliLetters, AFailedMessageIsListedShownAndPutBack) {
  Program worker(with_program({"reply", "worker", "--command",
                               "test -f $TMPDIR/fixed && cat > $TMPDIR/part && "
                               "mv $TMPDIR/part $TMPDIR/got"}));
  wait_for_agent("worker");
  const std::string large = std::string(5000, 'x') + "\nthe end";
  std::string id = good({"send", "worker", "-", "--type", "job", "--as", "boss", "--keep"}, large);
  id.pop_back();
  const json letter = await_letters(1).at(0);
  EXPECT_EQ(letter.at("id"), id);
  EXPECT_EQ(letter.at("agent"), "worker");
  EXPECT_EQ(letter.at("held_by"), "agent");
  EXPECT_EQ(letter.at("from_name"), "boss");
  EXPECT_EQ(letter.at("type"), "job");
  EXPECT_EQ(letter.at("reason"), "exhausted") << "C-07";
  EXPECT_EQ(letter.at("attempts"), 3);
  EXPECT_EQ(letter.at("bytes"), large.size());
  const std::string table = good({"dlq", "ls", "worker"});
  EXPECT_TRUE(contains(table, id) && contains(table, "exhausted")) << table;
  EXPECT_EQ(good_json({"dlq", "ls", "boss"}), json::array());

  const json shown = good_json({"dlq", "show", id});
  EXPECT_EQ(shown.at("body"), large);
  EXPECT_EQ(shown.at("reason"), "exhausted");
  EXPECT_EQ(good({"dlq", "show", id, "worker", "--raw"}), large);
  const std::string text = good({"dlq", "show", id});
  EXPECT_TRUE(contains(text, "worker, pid ") && contains(text, "\nthe end\n")) << text;

  std::ofstream(folder_ + "/fixed") << "yes";
  EXPECT_EQ(good({"dlq", "requeue", id}), "requeued " + id + " for worker\n");
  wait_for_file("got");
  std::ifstream got(folder_ + "/got");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(got), {}), large);
  EXPECT_EQ(good_json({"dlq", "ls"}), json::array());
  EXPECT_TRUE(contains(bad(2, {"dlq", "requeue", id}), "dlq ls"));
}

TEST_F(CliLetters, LettersAreLetGoAndThoseOfAnAgentThatIsAwayWait) {
  Program worker(with_program({"reply", "worker", "--command", "exit 9"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "-", "--lines"}, "one\ntwo\nthree\n");
  const json letters = await_letters(3);
  const std::string first = letters.at(0).at("id");
  EXPECT_EQ(good({"dlq", "purge", first}), "purged 1\n");
  EXPECT_TRUE(contains(bad(2, {"dlq", "purge", first}), "dlq ls"));
  EXPECT_EQ(await_letters(2).at(0).at("id"), letters.at(1).at("id"));

  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_EQ(await_letters(2, {"worker"}).size(), 2U);
  const std::string second = letters.at(1).at("id");
  EXPECT_EQ(good({"dlq", "show", second, "--raw"}), "two");
  EXPECT_TRUE(contains(bad(4, {"dlq", "requeue", second}), "attaches again"));
  const Outcome refused = beeline({"dlq", "purge", "--all"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_EQ(refused.out, "purged 0\n");

  Program again(with_program({"recv", "worker"}));
  wait_for_agent("worker");
  EXPECT_EQ(good({"dlq", "requeue", second, "worker"}), "requeued " + second + " for worker\n");
  again.wait_for("two\n");
  EXPECT_EQ(good_json({"dlq", "purge", "--all", "worker"}).at("purged"), 1);
  EXPECT_EQ(good({"dlq", "purge", "--all"}), "purged 0\n");
  EXPECT_EQ(good_json({"dlq", "ls"}), json::array());
}

TEST_F(CliLetters, LettersOfAnAgentThatHasEndedForGoodAreWithTheCoordinator) {
  (void)good({"up"});
  ASSERT_NO_FATAL_FAILURE(leave_letters("mayfly", {"rejected", std::string(3000, 'y')}, 1));
  const json letters = await_letters(2);
  std::string rejected;
  std::string left;
  for (const json& letter : letters) {
    EXPECT_EQ(letter.at("agent"), "mayfly");
    EXPECT_EQ(letter.at("held_by"), "coordinator");
    EXPECT_EQ(letter.at("type"), "job");
    EXPECT_EQ(letter.at("channel"), "jobs");
    EXPECT_EQ(letter.at("rank"), 1);
    (letter.at("reason") == "rejected" ? rejected : left) = letter.at("id");
  }
  EXPECT_EQ(good_json({"dlq", "show", left}).at("reason"), "receiver_dead");
  EXPECT_EQ(good({"dlq", "show", left, "mayfly", "--raw"}), std::string(3000, 'y'));
  EXPECT_TRUE(contains(good({"dlq", "ls"}), "mayfly (ended)"));
  EXPECT_TRUE(contains(bad(2, {"dlq", "requeue", left}), "--to"));
  EXPECT_TRUE(contains(bad(4, {"dlq", "requeue", left, "--to", "nobody"}), "nobody"));
  EXPECT_EQ(good_json({"dlq", "ls"}).size(), 2U) << "it was not sent, so it stays";

  make_away("worker");
  const json sent = good_json({"dlq", "requeue", left, "--to", "worker"});
  const auto taken = json_lines(good({"recv", "worker", "--count", "1", "--json"}));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].at("id"), sent.at("sent_as"));
  EXPECT_EQ(taken[0].at("body"), std::string(3000, 'y'));
  EXPECT_EQ(taken[0].at("type"), "job");
  EXPECT_EQ(taken[0].at("channel"), "jobs");
  EXPECT_EQ(taken[0].at("rank"), 1);
  ASSERT_EQ(good_json({"dlq", "ls", "mayfly"}).size(), 1U);
  EXPECT_EQ(good({"dlq", "purge", rejected}), "purged 1\n");
  EXPECT_TRUE(contains(bad(4, {"dlq", "ls", "mayfly"}), "mayfly"));
  EXPECT_EQ(good_json({"status"}).at("dead_letters"), 2) << "counted for ever";
}

TEST_F(CliLetters, ALetterOfWhichAPartWasKeptIsNotSentOn) {
  (void)good({"up"});
  const std::string large(100'000, 'z');
  ASSERT_NO_FATAL_FAILURE(leave_letters("mayfly", {large}, 0));
  const json letter = await_letters(1).at(0);
  const std::string id = letter.at("id");
  EXPECT_EQ(letter.at("bytes"), 100'000);
  EXPECT_EQ(letter.at("kept_bytes"), 65'536);
  EXPECT_EQ(good({"dlq", "show", id, "--raw"}), large.substr(0, 65'536));
  EXPECT_TRUE(contains(good({"dlq", "show", id}), "the first 65536 are kept"));
  make_away("worker");
  EXPECT_TRUE(contains(bad(1, {"dlq", "requeue", id, "--to", "worker"}), "--raw"));
  EXPECT_EQ(good({"dlq", "purge", "--all"}), "purged 1\n");
}

TEST_F(CliLetters, ManyLettersAreListedPageByPage) {
  (void)good({"up"});
  std::vector<std::string> bodies;
  for (int i = 0; i < 100; ++i) bodies.push_back("\x01\xff line " + std::to_string(i));
  AttachOptions options;
  options.name = "mayfly";
  options.temporary = true;
  {
    auto agent = Agent::attach(options);
    ASSERT_TRUE(agent) << agent.error().text;
    for (const std::string& body : bodies) ASSERT_TRUE(agent->send("mayfly", body));
  }
  const json letters = await_letters(100);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    EXPECT_TRUE(contains(letters.at(i).at("preview"), " line " + std::to_string(i))) << i;
  }
  const std::string id = letters.at(40).at("id");
  EXPECT_EQ(good({"dlq", "show", id, "--raw"}), bodies[40]);
  EXPECT_EQ(good({"dlq", "purge", "--all", "mayfly"}), "purged 100\n");
}

TEST_F(CliLetters, AnOrderThatABusyAgentDidNotReadInTimeIsVoid) {
  (void)good({"up"});
  AttachOptions options;
  options.name = "busy";
  auto agent = Agent::attach(options);
  ASSERT_TRUE(agent) << agent.error().text;
  std::string id = good({"send", "busy", "x"});
  id.pop_back();
  auto message = agent->receive({.timeout = std::chrono::seconds(60)});
  ASSERT_TRUE(message) << message.error().text;
  message->reject();
  // From here on the agent makes no call while the tool asks it.
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"dlq", "requeue", id}, {"dlq", "purge", id}}) {
    std::vector<std::string> words = order;
    words.insert(words.end(), {"--timeout", "1500ms"});
    const std::string told = bad(5, words);
    EXPECT_TRUE(contains(told, "will not obey") && contains(told, "dlq ls")) << told;
    EXPECT_FALSE(contains(told, "coordinator")) << told;
    EXPECT_FALSE(agent->next_notice()) << "it reads the order now";
    EXPECT_FALSE(agent->try_receive());
    EXPECT_EQ(agent->counters().dead, 1U);
  }
  EXPECT_EQ(agent->counters().purged, 0U);
}

TEST_F(CliLetters, ALetterThatIsSentOnKeepsCauseTraceAndHops) {
  (void)good({"up"});
  AttachOptions options;
  options.name = "worker";
  auto agent = Agent::attach(options);
  ASSERT_TRUE(agent) << agent.error().text;
  SendOptions with;
  with.cause = (MessageId{77} << 40) + 5;
  with.trace.trace_id.fill(0xab);
  with.trace.span_id.fill(0x0c);
  with.trace.flags = 1;
  with.hops = 3;
  {
    options.name = "mayfly";
    options.temporary = true;
    auto mayfly = Agent::attach(options);
    ASSERT_TRUE(mayfly) << mayfly.error().text;
    for (const std::size_t bytes : {5U, 3000U}) {
      ASSERT_TRUE(agent->send("mayfly", std::string(bytes, 'x'), with));
    }
  }
  for (const json& letter : await_letters(2)) {
    (void)good({"dlq", "requeue", letter.at("id"), "--to", "worker"});
    auto message = agent->receive({.timeout = std::chrono::seconds(60)});
    ASSERT_TRUE(message) << message.error().text;
    EXPECT_EQ(message->text(), std::string(letter.at("bytes").get<std::size_t>(), 'x'));
    EXPECT_EQ(message->cause(), with.cause);
    EXPECT_EQ(message->trace(), with.trace);
    EXPECT_EQ(message->hops(), 3U);
    message->done();
  }
}

TEST_F(CliLetters, AMessageThatIsOverIsNotListedAsOneThatWaits) {
  make_away("worker");
  (void)good({"send", "worker", "soon over", "--ttl", "1ms"});
  (void)good({"send", "worker", "for ever"});
  const auto is_over = [](const json& lines) {
    return std::count_if(lines.begin(), lines.end(),
                         [](const json& line) { return line.at("reason") == "expired"; });
  };
  json lines = good_json({"inbox", "worker"});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (is_over(lines) == 0 && std::chrono::steady_clock::now() < end) {
    lines = good_json({"inbox", "worker"});
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(is_over(lines), 1) << "C-20";
  EXPECT_EQ(lines.at(1).at("reason"), nullptr);
}

TEST_F(CliLetters, AWrongAgentOrLetterIsNamedInTheError) {
  (void)good({"up"});
  (void)bad(2, {"dlq"});
  (void)bad(2, {"dlq", "purge"});
  (void)bad(2, {"dlq", "purge", "--all", "3:1", "worker"});
  EXPECT_TRUE(contains(bad(4, {"dlq", "ls", "nobody"}), "nobody"));
  EXPECT_TRUE(contains(bad(4, {"dlq", "show", "3:1", "nobody"}), "nobody"));
  for (const char* id : {"x", "3", "3:", ":3", "0:1", "3:0", "3:1x", "99999999:1"}) {
    EXPECT_TRUE(contains(bad(2, {"dlq", "show", id}), "3:21")) << id;
  }
  EXPECT_TRUE(contains(bad(2, {"dlq", "requeue", "3:1"}), "no dead letter"));
  EXPECT_TRUE(contains(good({"dlq", "requeue", "--help"}), "Examples:"));
}

}  // namespace
}  // namespace beeline::test
