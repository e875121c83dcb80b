// beeline spawn, wait, kill, ps, signal, sleep, wake, and log --output.

#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliSteward : public CliTest {
 protected:
  // The words of a spawn; the child is a shell.
  static std::vector<std::string> spawn_words(const std::string& name, const std::string& script,
                                              const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"spawn", name};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
  }
  static std::string spawn(const std::string& name, const std::string& script,
                           const std::vector<std::string>& options = {}) {
    std::string pid = good(spawn_words(name, script, options));
    EXPECT_TRUE(pid.ends_with('\n')) << pid;
    pid.pop_back();
    return pid;
  }
  // A script that takes one message, prints it and ends with this status.
  static std::string taker(const std::string& name, int status) {
    return "echo begin; $BEELINE_BIN/beeline recv " + name + " --count 1; echo end; exit " +
           std::to_string(status);
  }
};

TEST_F(CliSteward, AChildComesIsListedAndItsEndIsTold) {
  const std::string pid =
      spawn("w", taker("w", 7), {"--role", "task", "--restart", "never", "--env", "A=b"});
  const json listed = good_json({"ps"});
  ASSERT_EQ(listed.size(), 1U);
  const json& child = listed[0];
  EXPECT_EQ(std::to_string(child.at("pid").get<int>()), pid);
  EXPECT_EQ(child.at("name"), "w");
  EXPECT_EQ(child.at("role"), "task");
  EXPECT_EQ(child.at("restart"), "never");
  EXPECT_EQ(child.at("state"), "running");
  EXPECT_EQ(child.at("end"), nullptr);
  EXPECT_TRUE(contains(good({"ps"}), "running"));
  EXPECT_TRUE(contains(bad(5, {"wait", "w", "--timeout", "1ms"}), "w"));

  (void)good({"send", pid, "hello"});
  const Outcome ended = beeline({"wait", "w", "--timeout", "60s"});
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(ended.out, "begin\nhello\nend\n");
  const Outcome again = beeline({"wait", pid, "--json"});
  EXPECT_EQ(again.code, 7);
  EXPECT_EQ(json::parse(again.out).at("exit_code"), 7);
  EXPECT_EQ(good({"log", "w", "--output"}), "begin\nhello\nend\n");
  EXPECT_EQ(good({"log", "w", "--output", "--follow"}), "begin\nhello\nend\n");
  EXPECT_EQ(good_json({"log", pid, "--output"}).at("output"), "begin\nhello\nend\n");
}

TEST_F(CliSteward, AKillEndsTheLowestFirstAndSaysTheirPids) {
  const std::string lead =
      spawn("lead", "exec $BEELINE_BIN/beeline reply lead --echo", {"--role", "lead"});
  const std::string leaf = spawn("leaf", "exec $BEELINE_BIN/beeline reply leaf --echo",
                                 {"--parent", "lead", "--env", "A="});
  EXPECT_TRUE(contains(bad(2, {"kill", "lead", "--no-recursive"}), "1 living children"));
  EXPECT_EQ(good({"kill", "lead"}), leaf + '\n' + lead + '\n');
  EXPECT_EQ(json::parse(beeline({"wait", "leaf", "--json"}).out).at("reason"), "killed");
  EXPECT_TRUE(contains(bad(4, {"kill", "nobody"}), "nobody"));
}

// HK-109, HK-114
TEST_F(CliSteward, AChildSleepsUntilItIsWoken) {
  (void)spawn("w", "exec $BEELINE_BIN/beeline reply w --echo", {"--restart", "never"});
  EXPECT_EQ(good({"sleep", "w"}), "sleeping\n");
  EXPECT_EQ(good_json({"sleep", "w"}), (json{{"state", "sleeping"}}));
  EXPECT_TRUE(contains(good({"ps"}), "sleeping"));
  (void)bad(5, {"request", "w", "hello", "--timeout", "100ms"});
  EXPECT_EQ(good({"wake", "w"}), "running\n");
  EXPECT_EQ(good({"request", "w", "hello"}), "hello\n");
  EXPECT_TRUE(contains(bad(2, {"wake", "w"}), "\"w\" is running"));
  EXPECT_EQ(good({"signal", "w", "STOP"}), "sleeping\n");
  EXPECT_TRUE(contains(bad(2, {"signal", "w", "SEGV"}), "TERM"));
  EXPECT_EQ(good({"signal", "w", "KILL"}), "ended\n");
  EXPECT_TRUE(contains(bad(4, {"wake", "w"}), "its state is ended"));
}

TEST_F(CliSteward, AnOutputIsFollowedUntilTheChildEnds) {
  const std::string pid = spawn("w", taker("w", 0), {"--restart", "never"});
  Program follower(with_program({"log", "w", "--output", "--follow"}));
  (void)good({"send", "w", "hello"});
  const Outcome followed = follower.wait();
  EXPECT_EQ(followed.code, 0) << followed.err;
  EXPECT_EQ(followed.out, "begin\nhello\nend\n");
}

TEST_F(CliSteward, ASpawnThatFailsSaysWhy) {
  EXPECT_TRUE(contains(bad(1, spawn_words("a", "echo my last words; exit 9")), "my last words"));
  const Outcome late = beeline(spawn_words("b", "sleep 60", {"--ready-within", "20ms"}));
  EXPECT_NE(late.code, 0);
  EXPECT_TRUE(contains(late.err, "never ready within 20 ms")) << late.err;
  EXPECT_TRUE(contains(bad(1, {"spawn", "c", "--", "/no-such-program"}), "/no-such-program"));
  EXPECT_TRUE(contains(bad(4, spawn_words("d", "true", {"--parent", "nobody"})), "nobody"));
  EXPECT_TRUE(contains(bad(2, spawn_words("e", "true", {"--env", "A"})), "NAME=VALUE"));
  EXPECT_TRUE(contains(bad(2, spawn_words("f", "true", {"--grace", "soon"})), "--grace"));
  EXPECT_TRUE(contains(bad(2, {"spawn", "g"}), "COMMAND"));
  EXPECT_EQ(good_json({"ps"}), json::array()) << "a failed spawn leaves no child";
}

TEST_F(CliSteward, OneKeyIsOneChildWhateverItIsCalled) {
  const std::string script = "exec $BEELINE_BIN/beeline reply worker-2 --echo";
  const std::string pid = spawn("worker-2", script, {"--key", "once"});
  EXPECT_EQ(spawn("worker-2", script, {"--key", "once"}), pid);
  EXPECT_EQ(good_json({"ps"}).size(), 1U);
}

TEST_F(CliSteward, TheVerbsThatLookStartNoHive) {
  for (const char* const verb : {"kill", "wait", "sleep", "wake"}) (void)bad(3, {verb, "w"});
  (void)bad(3, {"ps"});
  (void)bad(3, {"log", "w", "--output"});
  EXPECT_FALSE(is_up());
  (void)good({"up"});
  EXPECT_TRUE(contains(bad(4, {"log", "w", "--output"}), "beeline ps"));
  EXPECT_TRUE(contains(bad(2, {"log", "w", "--follow"}), "--output"));
}

}  // namespace
}  // namespace beeline::test
