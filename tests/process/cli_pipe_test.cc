// beeline pipe: an agent that a program in any language drives.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

// A `beeline pipe` and its output so far.
class PipeProgram {
 public:
  explicit PipeProgram(const std::string& name, std::vector<std::string> options = {})
      : program_(words(name, std::move(options)), Program::OpenInput{}) {
    program_.wait_for("\"event\":\"ready\"");
  }

  // Gives a command and returns its seq.
  int give(json command) {
    command["seq"] = ++seq_;
    program_.write(command.dump() + '\n');
    return seq_;
  }
  // The result of a command.
  [[nodiscard]] json result(int seq) const {
    const std::string mark = "{\"seq\":" + std::to_string(seq) + ",\"ok\":";
    program_.wait_for(mark);
    const std::size_t begin = program_.out().find(mark);
    std::size_t end = std::string::npos;
    while ((end = program_.out().find('\n', begin)) == std::string::npos) ::usleep(2000);
    return json::parse(program_.out().substr(begin, end - begin), nullptr, false);
  }
  json call(json command) { return result(give(std::move(command))); }
  // The result of a command that must succeed.
  json good(json command) {
    json line = call(std::move(command));
    EXPECT_EQ(line.value("ok", false), true) << line.dump();
    return line;
  }
  std::string bad(json command) {
    const json line = call(std::move(command));
    EXPECT_EQ(line.value("ok", true), false) << line.dump();
    return line.value("code", "");
  }
  json receive(json command = json::object()) {
    command["do"] = "receive";
    return good(std::move(command)).value("message", json());
  }
  // The complete lines so far.
  [[nodiscard]] std::vector<json> lines() const {
    const std::string out = program_.out();
    return json_lines(out.substr(0, out.rfind('\n') + 1));
  }
  [[nodiscard]] std::vector<json> events() const {
    std::vector<json> found;
    for (const json& line : lines()) {
      if (line.contains("event")) found.push_back(line);
    }
    return found;
  }
  Outcome end() {
    program_.close_input();
    return program_.wait();
  }
  Program& program() { return program_; }

 private:
  static std::vector<std::string> words(const std::string& name, std::vector<std::string> options) {
    options.insert(options.begin(), {"beeline", "pipe", name});
    return options;
  }
  Program program_;
  int seq_ = 0;
};

class CliPipe : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    (void)good({"up"});
  }
  static json told_last(const Outcome& outcome) { return json_lines(outcome.out).back(); }
};

TEST_F(CliPipe, AMessageIsReceivedAnsweredAndDone) {
  PipeProgram worker("worker", {"--role", "lead"});
  Program asker(with_program({"request", "worker", "6 * 7", "--type", "sum"}));
  const json message = worker.receive({{"type", "sum"}});
  EXPECT_EQ(message.at("body"), "6 * 7");
  EXPECT_EQ(message.at("type"), "sum");
  EXPECT_EQ(message.at("attempts"), 0);
  (void)worker.good({{"do", "done"}, {"id", message.at("id")}, {"body", "42"}});
  EXPECT_EQ(asker.wait().out, "42\n");
  EXPECT_EQ(worker.bad({{"do", "done"}, {"id", message.at("id")}}), "not_held");

  Program second(with_program({"request", "worker", "more"}));
  const json more = worker.receive();
  (void)worker.good({{"do", "reply"}, {"id", more.at("id")}, {"body", "by hand"}});
  EXPECT_EQ(second.wait().out, "by hand\n");
  (void)worker.good({{"do", "done"}, {"id", more.at("id")}});

  Program third(with_program({"request", "worker", "no"}));
  (void)worker.good({{"do", "reject"}, {"id", worker.receive().at("id")}, {"body", "not me"}});
  EXPECT_TRUE(contains(third.wait().err, "dead letter: not me"));
  const Outcome outcome = worker.end();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(told_last(outcome).at("why"), "input");
}

TEST_F(CliPipe, ManyCommandsAreUnderWayAtOnce) {
  PipeProgram worker("worker");
  Program echo(with_program({"reply", "echo", "--echo"}));
  wait_for_agent("echo");
  const int by_channel = worker.give({{"do", "receive"}, {"channel", "news"}});
  const int any = worker.give({{"do", "receive"}, {"type", "job"}});
  const int none = worker.give({{"do", "receive"}, {"timeout_ms", 0}, {"type", "nothing"}});
  std::vector<int> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back(
        worker.give({{"do", "request"}, {"to", "echo"}, {"body", std::to_string(i)}}));
  }
  EXPECT_EQ(worker.result(none).at("code"), "timeout");
  for (int i = 0; i < 20; ++i) {
    const json answer = worker.result(requests[static_cast<std::size_t>(i)]);
    EXPECT_EQ(answer.at("message").at("body"), std::to_string(i));
  }
  const int silent =
      worker.give({{"do", "request"}, {"to", "worker"}, {"body", "never"}, {"timeout_ms", 50}});
  EXPECT_EQ(worker.result(silent).at("code"), "timeout");
  (void)good({"send", "worker", "a job", "--type", "job"});
  (void)good({"send", "worker", "news", "--channel", "news", "--type", "x"});
  EXPECT_EQ(worker.result(any).at("message").at("body"), "a job");
  EXPECT_EQ(worker.result(by_channel).at("message").at("body"), "news");
  // A seq may be any value.
  worker.program().write("{\"do\":\"receive\",\"timeout_ms\":0,\"seq\":{\"a\":[1,null]}}\n");
  worker.program().wait_for("{\"seq\":{\"a\":[1,null]},\"ok\":false,\"code\":\"timeout\"");
  EXPECT_EQ(told_last(worker.end()).at("put_back"), 2);
}

TEST_F(CliPipe, SendCarriesTheFieldsOfItsOptions) {
  PipeProgram sender("sender");
  PipeProgram taker("taker");
  const json sent = sender.good({{"do", "send"},
                                 {"to", "taker"},
                                 {"body_base64", "gP8A"},
                                 {"rank", "high"},
                                 {"type", "blob"},
                                 {"channel", "c"},
                                 {"ttl_ms", 60000},
                                 {"reply_to", "3:21"}});
  const json message = taker.receive();
  EXPECT_EQ(message.at("id"), sent.at("id"));
  EXPECT_EQ(message.at("body_base64"), "gP8A");
  EXPECT_EQ(message.at("rank"), 1);
  EXPECT_EQ(message.at("channel"), "c");
  EXPECT_EQ(message.at("ttl_ms"), 60000);
  EXPECT_EQ(message.at("reply_to"), "3:21");
  EXPECT_EQ(sender.bad({{"do", "send"}, {"to", "nobody"}}), "no_agent");
  EXPECT_EQ(sender.bad({{"do", "request"}, {"to", 4711}}), "no_agent");

  const int acked =
      sender.give({{"do", "send"}, {"to", "taker"}, {"body", "u"}, {"requires_ack", true}});
  (void)taker.good({{"do", "done"}, {"id", taker.receive().at("id")}, {"body", "thanks"}});
  EXPECT_EQ(sender.result(acked).at("status"), "accepted");
  EXPECT_EQ(sender.result(acked).at("body"), "thanks");

  const json all = sender.good({{"do", "broadcast"}, {"body", "to all"}});
  EXPECT_EQ(all.at("targets").at(0).at("name"), "taker");
  EXPECT_EQ(taker.receive().at("id"), all.at("id"));
  // Its lane takes 256 messages.
  int full = 0;
  for (int i = 0; full == 0 && i < 10'000; ++i) {
    if (!sender.call({{"do", "send"}, {"to", "taker"}}).at("ok")) full = i;
    if (i == 200) taker.program().signal(SIGSTOP);
  }
  EXPECT_GT(full, 200);
  const int waits = sender.give({{"do", "send"}, {"to", "taker"}, {"room_ms", 60000}});
  taker.program().signal(SIGCONT);
  EXPECT_EQ(sender.result(waits).at("ok"), true);
}

TEST_F(CliPipe, ALastLineWithoutAnEndIsCarriedOut) {
  const Outcome outcome =
      run({"/bin/sh", "-c",
           R"(printf '{"do":"send","to":"worker","body":"x"}\n{"do":"receive","timeout_ms":0}' |
          "$BEELINE_BIN/beeline" pipe worker)"});
  EXPECT_TRUE(contains(outcome.out, "\"body\":\"x\"")) << outcome.out;
}

TEST_F(CliPipe, MessagesInHandArePutBackWhenThePipeEnds) {
  make_away("worker");
  for (const char* body : {"one", "two", "three", "four"}) (void)good({"send", "worker", body});
  {
    PipeProgram worker("worker");
    const json one = worker.receive();
    const json two = worker.receive();
    const json three = worker.receive();
    EXPECT_EQ(three.at("body"), "three");
    (void)worker.good({{"do", "done"}, {"id", two.at("id")}});
    (void)worker.good({{"do", "put_back"}, {"id", one.at("id")}});
    const json again = worker.receive();
    EXPECT_EQ(again.at("id"), one.at("id"));
    EXPECT_EQ(again.at("redelivered"), false);
    (void)worker.good({{"do", "requeue"}, {"id", one.at("id")}});
    EXPECT_EQ(worker.receive().at("attempts"), 1);
    const int waits = worker.give({{"do", "receive"}, {"type", "none"}});
    const json listed = worker.good({{"do", "inbox"}});
    EXPECT_EQ(listed.at("messages").at(0).at("preview"), "four");
    EXPECT_EQ(listed.at("messages").at(1).at("place"), "leased");
    const Outcome outcome = worker.end();
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(told_last(outcome).at("put_back"), 2);
    EXPECT_TRUE(contains(
        outcome.out, "{\"seq\":" + std::to_string(waits) + ",\"ok\":false,\"code\":\"closed\""));
  }
  PipeProgram next("worker");
  EXPECT_EQ(next.receive().at("attempts"), 2) << "the program may have died of it";
  EXPECT_EQ(next.receive().at("attempts"), 1);
  next.program().signal(SIGKILL);
  (void)next.program().wait();
  PipeProgram last("worker");
  const json one = last.receive();
  EXPECT_EQ(one.at("body"), "three") << "the other one is a dead letter";
  EXPECT_EQ(one.at("attempts"), 2);
  EXPECT_EQ(one.at("redelivered"), true);
  last.program().signal(SIGTERM);
  const Outcome outcome = last.program().wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(told_last(outcome).at("why"), "signal");
  EXPECT_EQ(good_json({"recv", "worker", "--count", "1"}).at("attempts"), 2);
}

// Each such line costs one result, and the process goes on.
TEST_F(CliPipe, ALineThatIsNoCommandIsToldAndLosesNothing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"hello", "line 1 is no JSON: byte 1 of 5"},
      {"[1]", "is no JSON object but array"},
      {"{\"do\":\"receive\"", "is no JSON"},
      {"{\"do\":\"\xff\"}", "is no JSON"},
      {"{}", "has no field \"do\""},
      {R"({"do":"recieve","seq":"typo"})", "must be one of receive, done"},
      {R"({"do":7})", "\"do\" is 7"},
      {R"({"do":"done"})", "`done` needs the field \"id\""},
      {R"({"do":"done","id":"x"})", "like \"3:21\""},
      {R"({"do":"done","id":321})", "\"id\" of `done` is 321"},
      {R"({"do":"done","id":"3:21","text":"x"})",
       "no field \"text\": its fields are do seq id body"},
      {R"({"do":"send","to":"worker","body":1})", "\"body\" of `send` is 1: it must be a string"},
      {R"({"do":"send","to":"worker","body":"a","body_base64":"YQ=="})", "give one of them"},
      {R"({"do":"send","to":"worker","body_base64":"Y"})", "base64"},
      {R"({"do":"send","to":"","body":"a"})", "the name of an agent, or its pid"},
      {R"({"do":"send","to":0})", "the name of an agent, or its pid"},
      {R"({"do":"send","to":"worker","rank":2147483648})", "an integer of 32 bits"},
      {R"({"do":"send","to":"worker","rank":true})", "an integer of 32 bits"},
      {R"({"do":"send","to":"worker","type":"01234567890123456789012345678901"})", "at most 31"},
      {R"({"do":"send","to":"worker","ttl_ms":0})", "from 1 to 4294967295"},
      {R"({"do":"send","to":"worker","ttl_ms":1.5})", "a whole number"},
      {R"({"do":"send","to":"worker","timeout_ms":1})", "without requires_ack"},
      {R"({"do":"send","to":"worker","room_ms":60001})", "from 0 to 60000"},
      {R"({"do":"send","to":"worker","requires_ack":"yes"})", "true or false"},
      {R"({"do":"receive","timeout_ms":-1})", "a number of milliseconds from 0"},
      {R"({"do":"receive","timeout_ms":1e999})", "larger than a double holds"},
      {R"({"do":"broadcast","group":"everybody"})", "all, children, subtree or a role"},
      {R"({"do":"cancel"})", "needs of"},
      {R"({"do":"cancel","of":1,"to":"worker","id":"3:21"})", "and not both"},
      {R"({"do":"cancel","of":77})", "is under way"},
      {R"({"do":"inbox","limit":0})", "from 1 to 100000"},
      {R"({"do":"receive","seq":)" + std::string(40, '[') + std::string(40, ']') + "}",
       "nests deeper than 32"},
      {R"({"do":"requeue","id":"3:21"})", "is not held, 0 others are"},
  };
  PipeProgram worker("worker");
  std::string input;
  for (const auto& [line, text] : cases) input += line + '\n';
  worker.program().write(input + "\n \n");  // an empty line is nothing
  EXPECT_EQ(worker.good({{"do", "send"}, {"to", "worker"}, {"body", "alive"}}).at("ok"), true);
  const std::vector<json> lines = worker.lines();
  ASSERT_EQ(lines.size(), cases.size() + 2);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(lines[i + 1].at("ok"), false) << cases[i].first;
    EXPECT_TRUE(contains(lines[i + 1].at("text"), cases[i].second)) << lines[i + 1].dump();
  }
  EXPECT_EQ(lines[6].at("seq"), "typo");
  EXPECT_EQ(worker.receive().at("body"), "alive");
}

TEST_F(CliPipe, ALineThatIsTooLongIsDroppedAndTold) {
  PipeProgram worker("worker");
  const std::string most(96U << 20, 'x');
  worker.program().write(most + "y\n");
  EXPECT_EQ(worker.bad({{"do", "cancel"}, {"of", 1}}), "invalid");
  const json told = worker.lines().at(1);
  EXPECT_EQ(told.at("code"), "too_big");
  EXPECT_TRUE(contains(told.at("text"), "line 1 has 100663297 bytes, the limit is 100663296"));
}

// Bytes of commands, changed at random: each line has one result, good or bad.
TEST_F(CliPipe, NoLineEndsTheProcess) {
  const std::vector<std::string> seeds = {
      R"({"do":"receive","seq":5,"timeout_ms":0,"type":"a"})",
      R"({"do":"send","seq":"x","to":"worker","body":"abc","rank":-3,"ttl_ms":1000})",
      R"({"do":"reply","id":"2:1","body_base64":"YWJj"})",
      R"({"do":"cancel","of":[1,2],"seq":null})",
      R"({"do":"inbox","limit":5,"channel":"\u00e4"})",
  };
  std::mt19937 random(20261126);
  std::string input;
  constexpr int kLines = 3000;
  for (int i = 0; i < kLines; ++i) {
    std::string line = seeds[random() % seeds.size()];
    for (unsigned changes = random() % 4; changes != 0; --changes) {
      const std::size_t at = random() % line.size();
      switch (random() % 3) {
        case 0:
          line[at] = static_cast<char>(random() % 255 + 1);
          break;
        case 1:
          line.insert(at, line.substr(random() % line.size(), random() % 8));
          break;
        default:
          line.erase(at, random() % 4);
      }
    }
    std::replace(line.begin(), line.end(), '\n', ' ');
    input += (line.empty() ? "x" : line) + '\n';
  }
  PipeProgram worker("worker");
  worker.program().write(input);
  (void)worker.good({{"do", "inbox"}, {"limit", 1}});
  const Outcome outcome = worker.end();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::size_t results = 0;
  for (const json& line : json_lines(outcome.out)) results += line.contains("ok") ? 1 : 0;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  std::size_t lines = 1;
  for (std::size_t begin = 0; begin < input.size(); begin = input.find('\n', begin) + 1) {
    const std::string line = input.substr(begin, input.find('\n', begin) - begin);
    lines += std::all_of(line.begin(), line.end(), blank) ? 0 : 1;
  }
  EXPECT_EQ(results, lines);
}

TEST_F(CliPipe, TheEndOfAnotherMessageOrAgentIsAnEvent) {
  PipeProgram lead("lead");
  PipeProgram child("child", {"--parent", "lead", "--temporary"});
  const int taken = lead.give({{"do", "request"}, {"to", "child"}, {"body", "work"}});
  const json message = child.receive();
  (void)lead.good({{"do", "cancel"}, {"of", taken}});
  child.program().wait_for("\"event\":\"taken_back\"");
  EXPECT_EQ(child.events().back().at("id"), message.at("id"));
  (void)child.good({{"do", "done"}, {"id", message.at("id")}, {"body", "too late"}});
  EXPECT_EQ(lead.result(taken).at("message").at("body"), "too late");
  const int waits = lead.give({{"do", "receive"}});
  (void)lead.good({{"do", "cancel"}, {"of", waits}});
  EXPECT_EQ(lead.result(waits).at("code"), "cancelled");

  const int late =
      lead.give({{"do", "request"}, {"to", "child"}, {"timeout_ms", 1}, {"leave", true}});
  EXPECT_EQ(lead.result(late).at("code"), "timeout");
  (void)child.good({{"do", "done"}, {"id", child.receive().at("id")}});
  EXPECT_EQ(child.end().code, 0);
  lead.program().wait_for("\"event\":\"child_dead\"");
  EXPECT_EQ(lead.events().back().at("name"), "child");

  (void)good({"down"});
  const Outcome outcome = lead.program().wait();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(told_last(outcome).at("why"), "hive");
  EXPECT_TRUE(contains(outcome.err, "the hive went down"));
}

TEST_F(CliPipe, WithoutAReaderItEndsAndPutsBack) {
  make_away("worker");
  (void)good({"send", "worker", "kept"});
  // The reader ends once it has the message; stdin stays open.
  const Outcome outcome =
      run({"/bin/sh", "-c",
           R"(mkfifo "$TMPDIR/in"; exec 3<>"$TMPDIR/in"; echo '{"do":"receive"}' >&3
          { "$BEELINE_BIN/beeline" pipe worker <"$TMPDIR/in"; echo "code $?" >&2; } |
          while read line; do case $line in *kept*) exit;; esac; done)"});
  EXPECT_TRUE(contains(outcome.err, "code 1")) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.err, "nobody reads our stdout: 1 messages are put back, an attempt each"));
  const Outcome full = run({"/bin/sh", "-c",
                            R"(echo '{"do":"receive","timeout_ms":0}' |
                               "$BEELINE_BIN/beeline" pipe worker >/dev/full)"});
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "No space left on device")) << full.err;
  EXPECT_EQ(good_json({"recv", "worker", "--count", "1"}).at("attempts"), 1);
}

TEST_F(CliPipe, AReaderThatIsSlowStopsTheCommandsAndNotTheProcess) {
  make_away("worker");
  for (int i = 0; i < 40; ++i) {
    (void)good({"send", "worker", "-"}, std::string(100'000, 'x'));
  }
  // Nobody reads its output.
  const Outcome outcome =
      run({"/bin/sh", "-c",
           R"(mkfifo "$TMPDIR/in" "$TMPDIR/out"; exec 3<>"$TMPDIR/out" 4<>"$TMPDIR/in"
          i=0; while [ $i -lt 40 ]; do echo '{"do":"receive"}'; i=$((i+1)); done >&4
          "$BEELINE_BIN/beeline" pipe worker <"$TMPDIR/in" >"$TMPDIR/out" &
          until "$BEELINE_BIN/beeline" inbox worker | grep -q leased; do :; done
          kill -TERM $!; wait $!; code=$?
          "$BEELINE_BIN/beeline" inbox worker | grep -c -e queued -e lane; exit $code)"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "nobody reads our stdout: ")) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "stdout: 40 ")) << "more than it may keep";
  EXPECT_EQ(outcome.out, "40\n") << "none is lost";
}

// How often the process was woken or has gone to sleep.
long switches(const Program& program) {
  std::ifstream file("/proc/" + std::to_string(program.pid()) + "/status");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "\nvoluntary_ctxt_switches:";
  return std::stol(text.substr(text.find(mark) + mark.size()));
}

TEST_F(CliPipe, ItSleepsWhileNobodyAsksForTheWaitingMessages) {
  PipeProgram worker("worker");
  for (const char* type : {"none", "other"}) {
    for (int i = 0; i < 5; ++i) (void)good({"send", "worker", "x", "--type", "job"});
    while (worker.good({{"do", "inbox"}}).at("messages").empty()) {
    }
    const long before = switches(worker.program());
    for (int i = 0; i < 5; ++i) (void)good({"tree"});
    EXPECT_LT(switches(worker.program()), before + 10);
    (void)worker.give({{"do", "receive"}, {"type", type}});
  }
  EXPECT_EQ(worker.receive().at("body"), "x");
}

TEST_F(CliPipe, TheNumberOfAttemptsIsAnOption) {
  make_away("worker");
  (void)good({"send", "worker", "x"});
  PipeProgram worker("worker", {"--max-attempts", "1"});
  (void)worker.good({{"do", "requeue"}, {"id", worker.receive().at("id")}});
  EXPECT_EQ(worker.bad({{"do", "receive"}, {"timeout_ms", 0}}), "timeout");
  EXPECT_EQ(good_json({"dlq", "ls"}).at(0).at("reason"), "exhausted");
  EXPECT_TRUE(contains(bad(3, {"pipe", "worker"}), "worker"));
  EXPECT_TRUE(contains(bad(2, {"pipe", "w", "--max-attempts", "0"}), "--max-attempts"));
}

}  // namespace
}  // namespace beeline::test
