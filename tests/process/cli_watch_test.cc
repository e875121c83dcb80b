// --watch of tree, status and info.

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>

#include <array>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class CliWatch : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    (void)good({"up"});
  }
  static std::string head(const std::string& verb) {
    return verb == "tree" ? "agent " : verb == "status" ? "hive " : "name ";
  }
  static void wait_for_more(const Program& program, const std::string& part) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::size_t wanted = count(program.out(), part) + 2;
    while (count(program.out(), part) < wanted) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << program.out();
      ::usleep(2000);
    }
  }
};

TEST_F(CliWatch, OneLookComesAfterTheOtherUntilASignal) {
  for (const std::string verb : {"tree", "status", "info"}) {
    Program watch(with_program({verb, "--watch", "100ms"}));
    ASSERT_NO_FATAL_FAILURE(wait_for_more(watch, head(verb)));
    watch.signal(verb == "tree" ? SIGINT : SIGTERM);
    const Outcome outcome = watch.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_FALSE(contains(outcome.out, "\x1b")) << "stdout is no terminal";
  }
}

TEST_F(CliWatch, EachLookIsOneLineOfJson) {
  for (const std::string verb : {"tree", "status", "info"}) {
    Program watch(with_program({verb, "--json", "--watch=0.1"}));
    ASSERT_NO_FATAL_FAILURE(wait_for_more(watch, "\n"));
    watch.signal(SIGINT);
    const Outcome outcome = watch.wait();
    EXPECT_EQ(outcome.code, 0);
    for (const json& line : json_lines(outcome.out)) EXPECT_EQ(line.is_array(), verb != "status");
  }
}

TEST_F(CliWatch, ItOutlivesACoordinatorAndEndsWithTheHive) {
  Program watch(with_program({"status", "--watch", "100ms"}));
  Program patient(with_program({"tree", "--watch", "1h"}));
  patient.wait_for("king");
  ASSERT_NO_FATAL_FAILURE(wait_for_more(watch, "keeper "));
  ASSERT_EQ(::kill(good_json({"status"}).at("coordinator_pid").get<pid_t>(), SIGKILL), 0);
  ASSERT_NO_FATAL_FAILURE(wait_for_more(watch, "restarted 1 times"));
  (void)good({"down"});
  for (Program* each : {&watch, &patient}) {
    const Outcome outcome = each->wait();
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "beeline up")) << outcome.err;
  }
}

TEST_F(CliWatch, ThePauseIsOptionalAndHasALimit) {
  make_away("worker");
  Program watch(with_program({"info", "--watch", "worker"}));
  watch.wait_for("worker");
  EXPECT_FALSE(contains(watch.out(), "king\n")) << "it is the agent that is meant";
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait().code, 0);
  for (const char* verb : {"tree", "status", "info"}) {
    EXPECT_TRUE(contains(bad(2, {verb, "--watch", "1ms"}), "100ms")) << verb;
  }
  EXPECT_TRUE(contains(bad(2, {"tree", "--watch", "soon"}), "soon"));
  EXPECT_TRUE(contains(bad(4, {"info", "--watch", "nobody"}), "nobody"));
}

// The output of `tree --watch` on a terminal until it has shown the tree twice.
std::string on_terminal(const char* kind) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::setenv("TERM", kind, 1);
    ::unsetenv("NO_COLOR");
    const std::string program = std::string(std::getenv("BEELINE_BIN")) + "/beeline";
    ::execl(program.c_str(), "beeline", "tree", "--watch", "100ms", nullptr);
    ::_exit(127);
  }
  std::string out;
  std::array<char, 4096> bytes{};
  bool is_asked = false;
  for (;;) {
    const ssize_t got = ::read(terminal, bytes.data(), bytes.size());
    if (got <= 0) break;  // it has ended
    out.append(bytes.data(), static_cast<std::size_t>(got));
    if (count(out, "king") < 2 || is_asked) continue;
    is_asked = true;
    EXPECT_EQ(::write(terminal, "\x03", 1), 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
  ::close(terminal);
  return out;
}

TEST_F(CliWatch, OnATerminalItWritesOverTheLastLook) {
  const std::string out = on_terminal("xterm");
  EXPECT_EQ(count(out, "\x1b[2J"), 1U) << "it clears once";
  EXPECT_GE(count(out, "\x1b[H"), 2U);
  EXPECT_FALSE(contains(on_terminal("dumb"), "\x1b"));
}

}  // namespace
}  // namespace beeline::test
