// beeline run, beeline demo: hives that leave nothing behind.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliScratch : public CliTest {
 protected:
  // Expects that no process and no file of a scratch hive is left.
  void expect_nothing_left() const {
    EXPECT_EQ(processes_with("TMPDIR", folder_), std::vector<pid_t>());
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      ADD_FAILURE() << "left: " << entry.path();
    }
  }
  // The same for processes that end shortly after the one that the test has waited for.
  void expect_nothing_left_soon() const {
    const auto is_left = [this] {
      return !std::filesystem::is_empty(folder_) || !processes_with("TMPDIR", folder_).empty();
    };
    for (int i = 0; i < 3000 && is_left(); ++i) ::usleep(10'000);
    expect_nothing_left();
  }
};

TEST_F(CliScratch, RunHasAHiveOfItsOwnAndTheExitCodeOfItsCommand) {
  const Outcome outcome = beeline(
      {"run", "--", "sh", "-c", "echo $BEELINE_DIR; beeline up 2>&1; test $? = 3 && exit 42"});
  EXPECT_EQ(outcome.code, 42) << outcome.out << outcome.err;
  EXPECT_TRUE(contains(outcome.out, folder_ + "/beeline-run-"));
  EXPECT_TRUE(contains(outcome.out + outcome.err, "already running"));
  EXPECT_EQ(beeline({"run", "--", "sh", "-c", "kill -9 $$"}).code, 128 + SIGKILL);
  EXPECT_EQ(beeline({"run", "no-such-command"}).code, 127);
  expect_nothing_left();
}

TEST_F(CliScratch, RunPassesArgumentsAndStreamsThrough) {
  EXPECT_EQ(good({"run", "--", "cat"}, "through"), "through");
  EXPECT_EQ(good({"run", "--", "echo", "-n", "--json", "x"}), "--json x");
  const Outcome flow =
      beeline({"run", "--", "sh", "-c", "beeline reply e --echo & beeline request e hi"});
  EXPECT_EQ(flow.code, 0);
  EXPECT_EQ(flow.out, "hi\n");
  expect_nothing_left();
}

TEST_F(CliScratch, RunLeavesNoCommandOfAReplyBehind) {
  // The command has a process in a group of its own, and the hive goes down while that works.
  const Outcome outcome = beeline(
      {"run", "--", "sh", "-c",
       "beeline reply w --command 'touch $TMPDIR/runs; timeout 1000 sleep 1000; true' & "
       "beeline request w x & while [ ! -e $TMPDIR/runs ]; do sleep 0.01; done; rm $TMPDIR/runs"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the hive went down, so the command was ended")) << outcome.err;
  expect_nothing_left();
}

TEST_F(CliScratch, RunCleansUpWhenItIsToldToEnd) {
  Program program(with_program({"run", "--", "sh", "-c", "echo up; exec sleep 1000"}));
  program.wait_for("up");
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 128 + SIGTERM);
  expect_nothing_left();
}

TEST_F(CliScratch, RunCleansUpEvenWhenItIsKilled) {
  Program program(with_program({"run", "--", "sh", "-c", "echo up; exec beeline recv worker"}));
  program.wait_for("up");
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait().code, 128 + SIGKILL);
  expect_nothing_left_soon();
}

TEST_F(CliScratch, RunCleansUpAfterACommandThatTookTheHiveDown) {
  EXPECT_EQ(beeline({"run", "--", "beeline", "down"}).code, 0);
  expect_nothing_left();
}

#ifdef BEELINE_HAS_STEWARD
TEST_F(CliScratch, DemoPassesAndLeavesNothing) {
  const Outcome outcome = beeline({"demo"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(contains(outcome.out, "kill -9  worker-3"));
  EXPECT_TRUE(contains(outcome.out, "PASS"));
  EXPECT_FALSE(contains(outcome.out, "FAIL"));
  EXPECT_FALSE(contains(outcome.out, "\x1b"));
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 45);
  expect_nothing_left();
}

TEST_F(CliScratch, DemoAsJsonTellsHowTheTaskMoved) {
  const json report = good_json({"demo"});
  EXPECT_GE(report.at("tasks"), 300);
  EXPECT_GE(report.at("lines"), 3000);
  EXPECT_EQ(report.at("killed").at("agent"), "worker-3");
  EXPECT_EQ(report.at("killed").at("attempts"), 2);
  EXPECT_NE(report.at("killed").at("os_pid"), report.at("killed").at("done_by_os_pid"));
  EXPECT_EQ(report.at("accounts").size(), 6U);
  EXPECT_GT(report.at("round_trip_ms").at("p50"), 0);
  for (const json& check : report.at("checks")) EXPECT_TRUE(check.at("passed")) << check;
  std::map<std::string, std::string> ends;
  for (const json& child : report.at("children")) {
    ends[child.at("name")] =
        child.at("restarts").dump() + " restarts, exit " + child.at("end").at("exit_code").dump();
  }
  EXPECT_EQ(ends.size(), 6U);
  EXPECT_EQ(ends["queen"], "0 restarts, exit 0");
  EXPECT_EQ(ends["worker-3"], "1 restarts, exit 0");
  expect_nothing_left();
}

TEST_F(CliScratch, DemoCountsAnyTextsAndEachFileOnce) {
  const std::string texts = folder_ + "/texts";
  ASSERT_TRUE(std::filesystem::create_directories(texts + "/below"));
  std::ofstream(texts + "/a") << "one two\nthree\n\n  four five \nno newline at the end";
  std::ofstream(texts + "/b") << "1\n2\n3\n4\n5\n6\n7\n8\n";
  std::ofstream(texts + "/binary") << std::string(100, '\0');
  std::ofstream(texts + "/below/c") << "not counted\n";
  std::filesystem::create_symlink("b", texts + "/link");
  const json report = good_json({"demo", texts});
  EXPECT_EQ(report.at("files"), 2);
  EXPECT_EQ(report.at("lines"), 13);
  EXPECT_EQ(report.at("words"), 18);
  std::filesystem::remove_all(texts);
  expect_nothing_left();
}

#else
TEST_F(CliScratch, WithoutAStewardTheDemoAndASpawnSayWhatIsMissing) {
  for (const auto& words :
       {std::vector<std::string>{"demo"}, {"run", "--", "beeline", "spawn", "a", "--", "true"}}) {
    EXPECT_TRUE(contains(beeline(words).err, "no beeline-steward lay beside beelined"));
  }
  expect_nothing_left();
}
#endif

TEST_F(CliScratch, DemoWithoutTextsSaysSo) {
  EXPECT_TRUE(contains(bad(2, {"demo", folder_}), folder_));
  EXPECT_TRUE(contains(bad(1, {"demo", folder_ + "/none"}), folder_ + "/none"));
  expect_nothing_left();
}

#ifdef BEELINE_HAS_STEWARD
TEST_F(CliScratch, DemoLeavesNothingWhenItIsInterruptedOrKilled) {
  for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
    Program demo(with_program({"demo"}));
    demo.wait_for("kill -9");  // the whole crew is at work, and one of it is being replaced
    demo.signal(number);
    const int code = demo.wait().code;
    if (number == SIGKILL) {
      EXPECT_EQ(code, 128 + SIGKILL);
    } else {
      EXPECT_LE(code, 1);
      expect_nothing_left();
    }
    expect_nothing_left_soon();
  }
}
#endif

}  // namespace
}  // namespace beeline::test
