// beeline exec, and beeline reply --tasks.

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliExec : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    (void)good({"up"});
    make_away("boss");
  }
  // A child of boss whose command does tasks.
  static std::vector<std::string> worker(const std::string& command,
                                         const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"reply",     "worker", "--parent", "boss",
                                      "--command", command,  "--tasks"};
    words.insert(words.end(), options.begin(), options.end());
    return with_program(words);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + '/' + name; }
  void expect_gone(const std::string& name) const {
    std::ifstream file(path(name));
    pid_t pid = 0;
    ASSERT_TRUE(file >> pid);
    for (int i = 0; i < 1000 && ::kill(pid, 0) == 0; ++i) ::usleep(10'000);
    EXPECT_NE(::kill(pid, 0), 0) << "the command runs on";
  }
};

TEST_F(CliExec, ACommandGetsAllFieldsOfATaskAndItsOutputComesBack) {
  std::ofstream(path("book")) << "the context";
  const Program replier(
      worker("printf '%s|' \"$(cat)\" \"$BEELINE_PARAM_lang\" \"$(cat $BEELINE_TASK_CONTEXT)\"; "
             "echo \"first\" >&2; printf second >&2"));
  const Outcome done = beeline({"exec", "worker", "count", "--param", "lang=en", "--param", "x=y=z",
                                "--context", path("book")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "count|en|the context|\n");
  EXPECT_EQ(done.err, "beeline: worker: first\nbeeline: worker: second\n");
  EXPECT_EQ(beeline({"exec", "worker", "-", "--as", "boss"}, "from stdin").out, "from stdin|||\n")
      << "no context: cat has nothing to read";
  EXPECT_EQ(good_json({"info", "worker"}).at("inbox").at("queued"), 0);
  EXPECT_EQ(good_json({"info", "boss"}).at("os_pid"), nullptr) << "boss is away again, and kept";
}

TEST_F(CliExec, ItExitsAsTheTaskDoesAndJsonHasAllOfTheResult) {
  const Program replier(worker("echo half; exit 42"));
  const Outcome done = beeline({"exec", "worker", "x"});
  EXPECT_EQ(done.code, 42) << done.err;
  EXPECT_EQ(done.out, "half\n");
  const Outcome full = run({"/bin/sh", "-c", "exec $BEELINE_BIN/beeline exec worker x >/dev/full"});
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "cannot write to our stdout")) << full.err;
  const Outcome json_done = beeline({"exec", "worker", "x", "--json"});
  EXPECT_EQ(json_done.code, 42);
  EXPECT_EQ(json::parse(json_done.out), json({{"exit_code", 42},
                                              {"output", "half\n"},
                                              {"artifacts", json::object()},
                                              {"metadata", json::object()}}));
}

TEST_F(CliExec, MessagesAreAnsweredBesideTasks) {
  const Program replier(worker("printf '%s ' \"${BEELINE_TASK_ID:+task}\"; cat"));
  EXPECT_EQ(good({"exec", "worker", "a"}), "task a\n");
  EXPECT_EQ(good({"request", "worker", "b"}), " b\n");
}

TEST_F(CliExec, EachErrorSaysWhatToDoNext) {
  EXPECT_TRUE(contains(bad(4, {"exec", "nobody", "x", "--timeout", "100ms"}), "nobody"));
  EXPECT_TRUE(contains(bad(2, {"exec", "worker", "x", "--param", "novalue"}), "NAME=VALUE"));
  EXPECT_TRUE(contains(bad(1, {"exec", "worker", "x", "--context", "/no/such"}), "/no/such"));
  EXPECT_TRUE(contains(bad(2, {"exec", "worker", "-", "--context", "-"}), "not both"));
  make_away("top");
  EXPECT_TRUE(contains(bad(7, {"exec", "top", "x"}), "--parent PARENT --tasks"));
  {
    const Program child(with_program({"reply", "deaf", "--parent", "boss", "--echo"}));
    EXPECT_TRUE(contains(bad(1, {"exec", "deaf", "x"}), "beeline reply deaf --tasks"));
    EXPECT_TRUE(contains(bad(7, {"exec", "deaf", "x", "--as", "top"}), "own children"));
  }
  make_away("gone", {"--parent", "boss"});
  EXPECT_TRUE(contains(bad(4, {"exec", "gone", "x"}), "start \"gone\" again"));
  const Program parent(with_program({"reply", "boss", "--echo"}));
  wait_for_agent("boss");
  for (const std::vector<std::string>& as :
       {std::vector<std::string>{}, std::vector<std::string>{"--as", "boss"}}) {
    std::vector<std::string> words = {"exec", "gone", "x"};
    words.insert(words.end(), as.begin(), as.end());
    EXPECT_TRUE(contains(bad(3, words), "Tasks::execute"));
  }
}

TEST_F(CliExec, ATimeoutEndsTheCommand) {
  const Program replier(worker("echo $$ >$TMPDIR/pid; sleep 1000"));
  wait_for_agent("worker");
  const std::string told = bad(5, {"exec", "worker", "x", "--timeout", "500ms"});
  EXPECT_TRUE(contains(told, "allow more with --timeout")) << told;
  expect_gone("pid");
  EXPECT_TRUE(contains(bad(2, {"reply", "x", "--echo", "--tasks"}), "--command"));
}

TEST_F(CliExec, ASignalToExecEndsTheCommandAndSoDoesItsDeath) {
  const Program replier(worker("echo $$ >$TMPDIR/pid; sleep 1000"));
  for (const int number : {SIGINT, SIGKILL}) {
    Program giver(with_program({"exec", "worker", "x"}));
    wait_for_file("pid");
    giver.signal(number);
    const Outcome outcome = giver.wait();
    EXPECT_EQ(outcome.code, number == SIGKILL ? 128 + SIGKILL : 1);
    EXPECT_EQ(contains(outcome.err, "cancelled"), number == SIGINT) << outcome.err;
    expect_gone("pid");
    std::filesystem::remove(path("pid"));
  }
}

TEST_F(CliExec, TheGiverOfATaskHearsAtOnceThatItsChildDied) {
  Program replier(worker("echo $$ >$TMPDIR/pid; sleep 1000"));
  Program giver(with_program({"exec", "worker", "x"}));
  wait_for_file("pid");
  replier.signal(SIGKILL);
  const Outcome outcome = giver.wait(std::chrono::seconds(30));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(contains(outcome.err, "start \"worker\" again")) << outcome.err;
  expect_gone("pid");
}

TEST_F(CliExec, ATaskFailsWhenItsCommandIsStoppedOrCannotHaveAParameter) {
  const Program replier(worker("kill -STOP $$", {"--command-timeout", "60s"}));
  const std::string stopped = bad(1, {"exec", "worker", "x"});
  EXPECT_TRUE(contains(stopped, "stopped by SIGSTOP")) << stopped;
  const std::string text(130'500, 'y');
  const std::string refused = bad(1, {"exec", "worker", "x", "--param", "a=" + text});
  EXPECT_TRUE(contains(refused, "is too long for the environment")) << refused.substr(0, 200);
}

}  // namespace
}  // namespace beeline::test
