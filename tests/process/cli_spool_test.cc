// The task folder on the command line: `beeline spool`.

#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class CliSpool : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    tasks_ = folder_ + "/tasks";
    ASSERT_EQ(::setenv("DROVER_MAILBOX_DIR", tasks_.c_str(), 1), 0);
  }
  void TearDown() override {
    ::unsetenv("DROVER_MAILBOX_DIR");
    EXPECT_FALSE(is_up()) << "the task folder needs no hive";
    CliTest::TearDown();
  }

  static Words spool(Words words) {
    words.insert(words.begin(), "spool");
    return words;
  }
  // Each command is a child of this process, so all of them are one worker.
  static std::string ok(Words words, const std::string& input = "") {
    return good(spool(std::move(words)), input);
  }
  static json ok_json(Words words) { return good_json(spool(std::move(words))); }
  // The document's name of the failure.
  static std::string refused(int code, Words words) {
    words.emplace_back("--json");
    const json error = json::parse(bad(code, spool(std::move(words))), nullptr, false);
    return error.is_object() ? error.value("code", "") : "";
  }
  static Outcome shell(const std::string& script) {
    return run({"/bin/sh", "-c", "PATH=$BEELINE_BIN:$PATH; " + script});
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(tasks_ + '/' + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text,
             std::chrono::hours age = std::chrono::hours(0)) const {
    const std::string path = tasks_ + '/' + name;
    std::ofstream(path) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(tasks_ + '/' + name); }

  std::string tasks_;
};

// DR-023: no process of the producer or of the worker goes on between two steps.
TEST_F(CliSpool, ATaskIsPutClaimedAndDoneByProcessesThatEnd) {
  EXPECT_EQ(ok({"put", "Fix it", "--id", "t-1", "--priority", "5", "--description", "-",
                "--metadata", R"({"worktree":"/w","dependencies":["t-0"],"more":[1]})"},
               "two\nlines"),
            "t-1\n");
  EXPECT_EQ(ok_json({"show", "t-1"}).at("folder"), "inbox");
  const std::string printed = ok({"claim"});
  EXPECT_EQ(printed, read("processing/t-1.json"));
  const json task = json::parse(printed);
  EXPECT_EQ(task.at("title"), "Fix it");
  EXPECT_EQ(task.at("description"), "two\nlines");
  EXPECT_EQ(task.at("priority"), 5);
  EXPECT_EQ(task.at("attempts"), 1);
  EXPECT_EQ(task.at("metadata").at("worktree"), "/w");
  EXPECT_EQ(task.at("metadata").at("more"), json({1}));
  const json survey = ok_json({"show"});
  EXPECT_EQ(survey.at("dir"), tasks_);
  EXPECT_EQ(survey.at("folders").at("processing").at("files"), 1);
  EXPECT_EQ(survey.at("workers").at(0).at("worker"), task.at("claimed_by"));
  EXPECT_EQ(ok({"heartbeat", "t-1"}), "");
  EXPECT_EQ(ok({"done", "t-1", "--verdict", "pass", "--reason", "all\x1b[2J", "--output", "a\nb"}),
            "completed t-1\n");
  const json result = json::parse(read("outbox/t-1_result.json"));
  EXPECT_EQ(result.at("verdict"), "pass");
  EXPECT_EQ(result.at("output"), "a\nb");
  EXPECT_TRUE(contains(ok({"show", "t-1"}), "\na\nb\n"));
  EXPECT_TRUE(contains(ok({"ls"}), "pass: all\\x1b[2J")) << "safe for a terminal";
  EXPECT_EQ(ok_json({"ls", "inbox"}), json::array());
}

// DR-013, DR-020, DR-021
TEST_F(CliSpool, EachFailureHasItsNameAndItsExitCode) {
  EXPECT_EQ(refused(1, {"ls"}), "ErrMailboxDir");
  EXPECT_FALSE(fs::exists(tasks_)) << "a look has made the folder";
  EXPECT_EQ(refused(5, {"claim"}), "ErrNoTasks");
  EXPECT_EQ(refused(5, {"claim", "--timeout", "1ms"}), "ErrNoTasks");
  EXPECT_EQ(refused(1, {"put", "x", "--dir", "/dev/null"}), "ErrMailboxDir");
  EXPECT_EQ(refused(2, {"put", "x", "--id", "../../x"}), "ErrInvalidTask");
  EXPECT_EQ(refused(2, {"put", "x", "--metadata", "{"}), "ErrInvalidTask");
  EXPECT_FALSE(fs::exists(folder_ + "/x.json"));
  (void)ok({"put", "first", "--id", "a"});
  EXPECT_EQ(refused(3, {"put", "second", "--id", "a"}), "ErrTaskExists");
  EXPECT_EQ(json::parse(read("inbox/a.json")).at("title"), "first");
  for (const Words& end : {Words{"done", "a"}, Words{"fail", "a", "x"}, Words{"retry", "a"},
                           Words{"done", "nope"}, Words{"show", "nope"}, Words{"done", "../a"}}) {
    EXPECT_EQ(refused(4, end), "ErrTaskNotFound") << end[0] << ' ' << end[1];
  }
  (void)ok({"claim"});
  EXPECT_EQ(refused(4, {"done", "a", "--worker", "another"}), "ErrTaskNotFound");
  EXPECT_TRUE(fs::is_empty(tasks_ + "/outbox")) << "nothing was written";
  EXPECT_EQ(ok({"fail", "a", "no\nsuch branch"}), "failed a\n");
  EXPECT_EQ(json::parse(read("failed/a_error.json")).at("error"), "no\nsuch branch");
  EXPECT_EQ(refused(2, {"claim", "--pid", "none"}), "ErrInvalidTask") << "it needs --worker";
  EXPECT_EQ(refused(2, {"claim", "--pid", "2147483647"}), "ErrInvalidTask");
}

TEST_F(CliSpool, AClaimBelongsToTheShellAndGoesBackWhenThatEnds) {
  (void)ok({"put", "x", "--id", "a", "--max-attempts", "3"});
  const Outcome same = shell("task=$(beeline spool claim) && beeline spool retry a why");
  EXPECT_EQ(same.out, "put back a\n") << same.err;
  EXPECT_EQ(shell("beeline spool claim").code, 0);
  const json task = json::parse(ok({"claim"}));
  EXPECT_EQ(task.at("attempts"), 3);
  EXPECT_EQ(task.at("last_error"), "why");
  EXPECT_EQ(ok({"retry", "a", "last"}), "failed a\n") << "no attempt is left";
  (void)ok({"put", "x", "--id", "b"});
  EXPECT_EQ(shell("beeline spool claim --pid none --worker night").code, 0);
  EXPECT_EQ(refused(5, {"claim"}), "ErrNoTasks") << "no process of the claim has ended";
  EXPECT_EQ(ok({"done", "b", "--worker", "night"}), "completed b\n");
  (void)ok({"put", "x", "--id", "c"});
  EXPECT_EQ(shell("exec beeline spool claim >/dev/full").code, 1);
  EXPECT_EQ(ok_json({"show", "c"}).at("folder"), "inbox") << "nobody has read it";
}

TEST_F(CliSpool, TasksOfAFileArePutEachForItself) {
  const Outcome lines = beeline(spool({"put", "--file", "-"}),
                                "no json\n\n{\"id\":\"a\"}\n{\"id\":3}\n{\"id\":\"b\"}");
  EXPECT_EQ(lines.code, 1);
  EXPECT_EQ(lines.out, "a\nb\n");
  EXPECT_TRUE(contains(lines.err, "line 1: invalid task format")) << lines.err;
  EXPECT_TRUE(contains(lines.err, "line 4: invalid task format")) << lines.err;
  EXPECT_EQ(ok({"put", "--file", "-"}, "{\n\"id\":\"c\",\n\"metadata\":\n{}\n}\n"), "c\n");
  const Outcome broken =
      beeline(spool({"put", "--file", "-"}), "{\n\"id\":\"d\"\n\"metadata\":\n{}\n}\n");
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.out, "") << "a part of a task is no task";
  EXPECT_TRUE(contains(broken.err, "stdin: invalid task format")) << broken.err;
  EXPECT_EQ(ok_json({"ls", "inbox"}).size(), 3U);
  EXPECT_EQ(refused(2, {"put", "--file", "-", "--priority", "1"}), "usage");
  EXPECT_EQ(refused(2, {"put"}), "usage");
  // A producer that goes on sees each id as soon as its task waits.
  Program producer(with_program(spool({"put", "--file", "-"})), Program::OpenInput{});
  producer.write("{\"id\":\"e\"}\n");
  producer.wait_for("e\n");
  EXPECT_TRUE(has("inbox/e.json"));
  producer.close_input();
  EXPECT_EQ(producer.wait().code, 0);
}

// DR-010
TEST_F(CliSpool, FilesOfStrangersAreRemarkedAndStay) {
  (void)ok({"put", "x", "--id", "good"});
  write("inbox/readme.txt", "x");
  write("inbox/evil\x1b[2J.json", "{}");
  fs::create_directory(tasks_ + "/inbox/folder.json");
  write("inbox/bad.json", "{", std::chrono::hours(1));
  const Outcome claimed = beeline(spool({"claim"}));
  EXPECT_EQ(json::parse(claimed.out).at("id"), "good");
  EXPECT_FALSE(contains(claimed.err, "\x1b")) << claimed.err;
  EXPECT_TRUE(contains(claimed.err, "evil\\x1b[2J.json")) << claimed.err;
  for (const char* name : {"inbox/readme.txt", "inbox/evil\x1b[2J.json", "inbox/folder.json"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  EXPECT_EQ(beeline(spool({"claim"})).code, 5);
  EXPECT_FALSE(has("inbox/bad.json"));
  EXPECT_TRUE(contains(ok({"show", "bad"}), "invalid task format"));
  write("outbox/half_result.json", "{");
  const json listed = ok_json({"ls", "outbox"});
  EXPECT_NE(listed.at(0).at("problem"), nullptr);
  EXPECT_TRUE(contains(ok({"ls", "outbox"}), "broken"));
}

// DR-018
TEST_F(CliSpool, SweepRemovesWhatIsOlderThanItsRetention) {
  constexpr auto kDay = std::chrono::hours(24);
  (void)ok({"put", "x", "--id", "lost"});
  EXPECT_EQ(shell("beeline spool claim").code, 0);
  write("outbox/old_result.json", "{}", 8 * kDay);
  write("outbox/new_result.json", "{}", 6 * kDay);
  write("failed/old_error.json", "{}", 8 * kDay);
  write(".tmp/old.json.tmp", "{}", std::chrono::hours(2));
  const json swept = ok_json({"sweep"});
  EXPECT_EQ(swept.at("recovered"), json({"lost"}));
  EXPECT_EQ(swept.at("removed_results"), 1);
  EXPECT_EQ(swept.at("removed_errors"), 0);
  EXPECT_EQ(swept.at("removed_temps"), 1);
  EXPECT_TRUE(has("inbox/lost.json") && has("outbox/new_result.json"));
  EXPECT_FALSE(has("outbox/old_result.json"));
  ASSERT_EQ(::setenv("DROVER_MAILBOX_FAILED_RETENTION", "7", 1), 0);
  EXPECT_TRUE(contains(ok({"sweep"}), "removed 0 old results, 1 errors"));
  ::unsetenv("DROVER_MAILBOX_FAILED_RETENTION");
}

TEST_F(CliSpool, ClaimWaitsForATaskAndWatchTellsOfIt) {
  Program waits(with_program(spool({"claim", "--wait"})));
  wait_for_file("tasks/.tmp");  // it blocks signals before it makes the folder
  Program watch(with_program(spool({"watch"})));
  // The watch may begin after the first tasks came.
  const auto has_told = [&watch] { return contains(watch.out(), "came  inbox"); };
  for (int i = 0; !has_told() && i < 10'000; ++i) (void)ok({"put", "x"});
  watch.wait_for("came  inbox");
  const Outcome claimed = waits.wait();
  EXPECT_EQ(claimed.code, 0) << claimed.err;
  EXPECT_EQ(json::parse(claimed.out).at("title"), "x");
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait().code, 0);
  Program stopped(with_program(spool({"claim", "--wait", "--dir", folder_ + "/other"})));
  wait_for_file("other/.tmp");
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.wait().code, 1);
}

TEST_F(CliSpool, HelpAndCompletionKnowTheVerbs) {
  const std::string page = good({"help", "--man"});
  for (const char* verb :
       {"put", "claim", "done", "fail", "retry", "heartbeat", "ls", "show", "sweep", "watch"}) {
    EXPECT_TRUE(contains(good({"help", "spool", verb}), "Examples:")) << verb;
    EXPECT_TRUE(contains(page, std::string(".SS beeline spool ") + verb)) << verb;
  }
  EXPECT_EQ(good({"complete", "--", "spool", "hea"}), "heartbeat\tSay that the worker lives\n");
  EXPECT_EQ(good({"complete", "--", "spool", "ls", "o"}), "outbox\t\n");
  EXPECT_EQ(good({"complete", "--", "spool", "put", "x", "--sync", ""}),
            "none\t\ndata\t\nfull\t\n");
  EXPECT_TRUE(contains(bad(2, {"spool", "clam"}), "did you mean `beeline spool claim`?"));
  EXPECT_TRUE(contains(bad(2, {"spool"}), "a verb is missing; see `beeline help spool`"));
  EXPECT_TRUE(contains(bad(2, {"spool", "done", "a", "--verdct", "x"}), "--verdict"));
}

}  // namespace
}  // namespace beeline::test
