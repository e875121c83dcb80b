// beeline up, down, status, tree, route, and the common behaviour of all verbs.

#include <fstream>

#include <beeline/agent.h>

#include "tests/process/cli_fixture.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

// The process has a socket and sleeps: it waits for an answer.
bool is_waiting_for_answer(pid_t pid) {
  namespace fs = std::filesystem;
  const fs::path process = "/proc/" + std::to_string(pid);
  std::string stat;
  std::getline(std::ifstream(process / "stat"), stat);
  if (stat.find(") S ") == std::string::npos) return false;
  std::error_code gone;
  for (const auto& fd : fs::directory_iterator(process / "fd", gone)) {
    if (fs::read_symlink(fd, gone).string().starts_with("socket:")) return true;
  }
  return false;
}

class CliHive : public CliTest {
 protected:
  void signal_hive(const json& status, int number) {
    for (const char* process : {"keeper_pid", "coordinator_pid"}) {
      ASSERT_EQ(::kill(status.at(process).get<pid_t>(), number), 0);
    }
  }
};

TEST_F(CliHive, EveryHelpPageHasExamples) {
  EXPECT_TRUE(contains(good({"-h"}), "Examples:"));
  for (const char* verb : {"up", "down", "status", "tree", "send", "recv", "reply", "request",
                           "inbox", "info", "doctor", "route", "forget", "run", "demo"}) {
    EXPECT_TRUE(contains(good({verb, "-h"}), "Examples:")) << verb;
  }
  EXPECT_TRUE(good({"--version"}).starts_with("beeline "));
  EXPECT_FALSE(is_up());
}

TEST_F(CliHive, WrongUsageExitsWithTwo) {
  (void)bad(2, {});
  (void)bad(2, {"no-such-verb"});
  (void)bad(2, {"status", "--no-such-option"});
  (void)bad(2, {"send", "worker"});
  (void)bad(2, {"reply", "worker"});
  (void)bad(2, {"reply", "worker", "--echo", "--command", "cat"});
  (void)bad(2, {"recv", "worker", "--role", "emperor"});
  (void)bad(2, {"run"});
  EXPECT_TRUE(contains(bad(2, {"status", "--timeout", "soon"}), "500ms"));
  EXPECT_TRUE(contains(bad(2, {"send", "worker", "x", "--rank", "top"}), "critical"));
  EXPECT_TRUE(contains(bad(2, {"status", "--hive", "a/b"}), "hive"));
  EXPECT_FALSE(is_up());
}

TEST_F(CliHive, VerbsThatLookDoNotStartACoordinator) {
  const std::vector<std::vector<std::string>> looks = {
      {"status"}, {"tree"}, {"inbox", "worker"}, {"info"}, {"route", "a", "b"}, {"down"}};
  for (const auto& words : looks) {
    EXPECT_TRUE(contains(bad(3, words), "beeline up")) << words.front();
  }
  EXPECT_FALSE(is_up());
}

TEST_F(CliHive, OtherVerbsStartOneUnlessToldNotTo) {
  EXPECT_TRUE(contains(bad(3, {"send", "worker", "x", "--no-start"}), "beeline up"));
  EXPECT_FALSE(is_up());
  (void)bad(4, {"send", "worker", "x"});
  EXPECT_TRUE(is_up());
}

TEST_F(CliHive, UpNamesItsSocketAndASecondUpNamesTheRunningProcesses) {
  EXPECT_TRUE(contains(good({"up"}), directory_ + "/socket"));
  const std::string refusal = bad(3, {"up"});
  const json status = good_json({"status"});
  EXPECT_TRUE(contains(refusal, std::to_string(status.at("keeper_pid").get<int>())));
  EXPECT_TRUE(contains(refusal, status.at("since").get<std::string>()));
  EXPECT_TRUE(contains(good({"down"}), "down"));
  EXPECT_FALSE(is_up());
  (void)bad(3, {"down"});
}

TEST_F(CliHive, UpStartsAHiveThatIsKilledWhileItIsAskedWhetherItRuns) {
  (void)good({"up"});
  const json status = good_json({"status"});
  signal_hive(status, SIGSTOP);
  Program up({"beeline", "up"});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_waiting_for_answer(up.pid())) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "nobody has asked";
    ::usleep(2000);
  }
  signal_hive(status, SIGKILL);
  const Outcome outcome = up.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(good_json({"status"}).at("keeper_pid"), status.at("keeper_pid"));
}

TEST_F(CliHive, UpAsJsonNamesProcessesThatRun) {
  const json up = good_json({"up", "--hive", "build"});
  EXPECT_EQ(up.at("hive"), "build");
  EXPECT_EQ(up.at("socket"), directory_ + "/socket");
  EXPECT_EQ(::kill(up.at("keeper_pid").get<pid_t>(), 0), 0);
  EXPECT_EQ(::kill(up.at("coordinator_pid").get<pid_t>(), 0), 0);
}

TEST_F(CliHive, ADirectoryOfAnotherHiveIsRefusedWithBothNames) {
  (void)good({"up", "--hive", "build"});
  for (const char* verb : {"down", "status", "up"}) {
    const std::string refusal = bad(2, {verb, "--hive", "other"});
    EXPECT_TRUE(contains(refusal, "\"other\"")) << refusal;
    EXPECT_TRUE(contains(refusal, "\"build\"")) << refusal;
  }
  EXPECT_EQ(good_json({"status", "--hive", "build"}).at("hive"), "build");
  EXPECT_EQ(good_json({"status"}).at("hive"), "build") << "the directory says whose it is";
}

TEST_F(CliHive, ThePayloadLimitOfAHiveIsSetWhenItStarts) {
  const std::string body(200'000, 'x');
  (void)bad(2, {"up", "--max-payload", "1"});
  EXPECT_FALSE(is_up());
  (void)good({"up", "--max-payload", "131072"});
  make_away("worker");
  const Outcome limited = beeline({"send", "worker", "-"}, body);
  EXPECT_EQ(limited.code, 1);
  EXPECT_TRUE(contains(limited.err, "131072")) << limited.err;
  (void)good({"down"});

  ASSERT_EQ(::setenv("BEELINE_MAX_PAYLOAD", "131072", 1), 0);
  make_away("worker");
  EXPECT_TRUE(contains(beeline({"send", "worker", "-"}, body).err, "131072"));
  (void)good({"down"});
  ASSERT_EQ(::setenv("BEELINE_MAX_PAYLOAD", "much", 1), 0);
  EXPECT_TRUE(contains(bad(2, {"up"}), "BEELINE_MAX_PAYLOAD is \"much\""));
  ::unsetenv("BEELINE_MAX_PAYLOAD");
}

TEST_F(CliHive, StatusShowsAccountsAndMemory) {
  make_away("worker");
  (void)good({"send", "worker", "one"});
  (void)good({"recv", "worker", "--count", "1"});
  (void)good({"send", "worker", "two"});
  const json status = good_json({"status"});
  EXPECT_EQ(status.at("away"), 1);
  EXPECT_GT(status.at("segment_bytes"), 0);
  ASSERT_EQ(status.at("inboxes").size(), 1U);
  const json& inbox = status.at("inboxes").at(0);
  EXPECT_EQ(inbox.at("name"), "worker");
  EXPECT_EQ(inbox.at("state"), "zombie");
  EXPECT_EQ(inbox.at("accepted"), 2);
  EXPECT_EQ(inbox.at("in_lanes"), 1);
  EXPECT_EQ(inbox.at("drained"), 1);
  EXPECT_EQ(inbox.at("done"), 1);
  for (const char* none : {"queued", "leased", "dead", "purged"}) EXPECT_EQ(inbox.at(none), 0);
  EXPECT_EQ(inbox.at("balanced"), true);
  EXPECT_EQ(inbox.at("moving"), false);
  const std::string text = good({"status"});
  EXPECT_TRUE(contains(text, "accepted  in lanes  queued  tasks  leased  done  dead  balance"))
      << text;
  EXPECT_TRUE(contains(text, " ok\n")) << text;
  EXPECT_TRUE(contains(text, "worker"));
  EXPECT_TRUE(contains(text, directory_ + "/socket"));
}

TEST_F(CliHive, ForgetMakesRoomAndStatusShowsTheNumbersOfAgents) {
  for (const char* name : {"one", "two", "lives"}) make_away(name);
  (void)good({"send", "one", "precious"});
  const json status = good_json({"status"});
  EXPECT_EQ(status.at("away"), 3);
  EXPECT_GE(status.at("numbers_used"), 4);
  EXPECT_EQ(status.at("numbers_run_out"), false);
  EXPECT_TRUE(contains(good({"status"}), "numbers"));
  EXPECT_EQ(good({"forget", "two"}), "two is forgotten, 0 messages are dead letters\n");
  EXPECT_EQ(good_json({"forget", "one"}).at(0).at("dead_letters"), 1);
  EXPECT_TRUE(contains(good({"dlq", "ls"}), "precious"));
  auto lives = Agent::attach(named("lives"));
  ASSERT_TRUE(lives);
  EXPECT_TRUE(contains(beeline({"forget", "lives", "nobody"}).err, "is run by process"));
  EXPECT_EQ(good_json({"status"}).at("away"), 0);
}

TEST_F(CliHive, AHiveIsToldHowLongAgentsStayAwayForNothing) {
  EXPECT_TRUE(contains(bad(2, {"up", "--forget-empty-after", "soon"}), "500ms"));
  (void)good({"up", "--forget-empty-after", "100ms"});
  make_away("worker");
  for (int i = 0; i < 3000 && good_json({"status"}).at("away") != 0; ++i) ::usleep(10'000);
  EXPECT_EQ(good_json({"status"}).at("away"), 0);
}

TEST_F(CliHive, TreeShowsParentsRolesAndStates) {
  Program queen(with_program({"recv", "queen", "--role", "architect"}));
  Program other(with_program({"reply", "other", "--echo"}));
  wait_for_agent("queen");
  wait_for_agent("other");
  make_away("worker", {"--parent", "queen"});
  const json king = good_json({"tree"}).at(0);
  EXPECT_EQ(king.at("name"), "king");
  EXPECT_EQ(king.at("role"), "kernel");
  for (const json& child : king.at("children")) {
    if (child.at("name") != "queen") continue;
    EXPECT_EQ(child.at("role"), "architect");
    EXPECT_EQ(child.at("state"), "idle");
    EXPECT_EQ(child.at("attached"), true);
    EXPECT_EQ(child.at("os_pid"), queen.pid());
    ASSERT_EQ(child.at("children").size(), 1U);
    EXPECT_EQ(child.at("children").at(0).at("name"), "worker");
    EXPECT_EQ(child.at("children").at(0).at("state"), "zombie");
  }
  EXPECT_TRUE(contains(good({"tree"}), "worker"));
}

TEST_F(CliHive, HK_102_TreeShowsTheStateOfAnAgent) {
  const std::string hold = "touch $TMPDIR/held; exec sleep 1000";
  Program holder(with_program({"reply", "holder", "--command", hold}));
  wait_for_agent("holder");
  EXPECT_TRUE(contains(good({"tree"}), "idle"));
  (void)good({"send", "holder", "x"});
  wait_for_file("held");
  EXPECT_EQ(good_json({"tree"}).at(0).at("children").at(0).at("state"), "running");
  EXPECT_EQ(good_json({"info", "holder"}).at("state"), "running");
  EXPECT_EQ(good_json({"info", "holder"}).at("inbox").at("leased"), 1);
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait().code, 128 + SIGKILL);
}

TEST_F(CliHive, HK_108_InfoShowsOneAgentOrAll) {
  make_away("lead", {"--role", "architect"});
  make_away("worker@vps1", {"--parent", "lead"});
  (void)good({"send", "worker", "short names reach as well: HK-072"});
  const json lead = good_json({"info", "lead"});
  EXPECT_EQ(lead.at("role"), "architect");
  EXPECT_EQ(lead.at("state"), "zombie");
  EXPECT_EQ(lead.at("parent"), 1);
  EXPECT_EQ(lead.at("children"), 1);
  EXPECT_EQ(lead.at("os_pid"), nullptr);
  EXPECT_EQ(lead.at("restarts"), 0);
  EXPECT_EQ(lead.at("temporary"), false);
  EXPECT_GT(lead.at("started_unix_ms"), 0);
  const json worker = good_json({"info", "worker"});
  EXPECT_EQ(worker.at("name"), "worker@vps1");
  EXPECT_EQ(worker.at("parent"), lead.at("pid"));
  EXPECT_EQ(worker.at("inbox").at("accepted"), 1);
  EXPECT_EQ(worker.at("inbox").at("in_lanes"), 1);
  EXPECT_EQ(worker.at("inbox").at("balanced"), true);
  const std::string pid = std::to_string(worker.at("pid").get<int>());
  EXPECT_EQ(good_json({"info", pid}).at("started_unix_ms"), worker.at("started_unix_ms"));
  EXPECT_EQ(good_json({"inbox", "worker"}).size(), 1U);
  EXPECT_EQ(good_json({"route", "lead", "worker"}).at("to"), worker.at("pid"));

  const json all = good_json({"info"});
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all.at(0).at("name"), "king");
  EXPECT_EQ(all.at(0).at("inbox"), nullptr);
  const std::string text = good({"info", "worker"});
  for (const char* part : {"worker@vps1", "lead (pid ", "zombie", "in lanes", "balance"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in " << text;
  }
  EXPECT_TRUE(contains(bad(4, {"info", "nobody"}), "beeline tree"));
}

TEST_F(CliHive, RouteNamesTheRule) {
  make_away("a");
  make_away("b");
  make_away("t", {"--parent", "a", "--role", "task"});
  EXPECT_EQ(good_json({"route", "a", "b"}).at("rule"), "sibling");
  EXPECT_EQ(good_json({"route", "t", "a"}).at("rule"), "parent");
  const Outcome denied = beeline({"route", "t", "b"});
  EXPECT_EQ(denied.code, 7);
  EXPECT_TRUE(contains(denied.out, "task_to_parent_only"));
  EXPECT_EQ(beeline({"route", "a", "nobody"}).code, 4);
  EXPECT_FALSE(contains(good({"route", "a", "b"}), "copy")) << "the coordinator is shown none";
  make_away("c", {"--parent", "a"});
  EXPECT_TRUE(contains(good({"route", "t", "a"}), " \"a\" is the parent of PID "));
  EXPECT_TRUE(contains(good({"route", "c", "t"}), "which is shown a copy"));
  pid_t dead = 0;
  {
    AttachOptions options;
    options.temporary = true;
    const auto mayfly = Agent::attach(options);
    ASSERT_TRUE(mayfly) << mayfly.error().text;
    dead = static_cast<pid_t>(mayfly->pid());
  }
  for (const auto& [from, to] : {std::pair("a", std::to_string(dead)), {"a", "0"}}) {
    EXPECT_EQ(beeline({"route", from, to}).code, beeline({"send", to, "x", "--as", from}).code);
    EXPECT_EQ(beeline({"route", from, to}).code, 4) << to;
  }
}

TEST_F(CliHive, NothingIsColouredOffATerminal) {
  (void)good({"up"});
  for (const char* verb : {"status", "tree"}) {
    EXPECT_FALSE(contains(good({verb}), "\x1b")) << verb;
  }
}

}  // namespace
}  // namespace beeline::test
