// Spawns: ready, failed with each reason, refused, repeated.

#include <nlohmann/json.hpp>

#include "src/os/process.h"
#include "tests/steward/steward_fixture.h"

namespace beeline::steward::test {
namespace {

using Spawn = StewardTest;
using Json = nlohmann::json;

TEST_F(Spawn, AChildIsTheAgentThatWasReserved) {
  SpawnOptions options = child("one");
  options.tier = "tactical";
  options.model = "m";
  options.directory = "/";
  options.environment = {{"COLOUR", "blue"}, {"LEDGER", ""}};
  const auto spawned = processes().spawn(options);
  ASSERT_TRUE(spawned) << spawned.error().text;
  const auto info = boss().info(spawned->pid);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "one");
  EXPECT_EQ(info->parent, boss().pid());
  EXPECT_EQ(info->role, "lead");
  EXPECT_EQ(info->os_pid, spawned->os_pid);
  EXPECT_EQ(ask("one", "env COLOUR"), "blue");
  EXPECT_EQ(ask("one", "env LEDGER"), "(none)");
  EXPECT_EQ(ask("one", "env BEELINE_KING"), "(none)");
  EXPECT_EQ(ask("one", "directory"), "/");
  const auto child = listed("one");
  ASSERT_TRUE(child);
  EXPECT_EQ(child->state, "running");
  EXPECT_EQ(child->tier, "tactical");
  EXPECT_EQ(child->model, "m");
  EXPECT_EQ(child->restart, "notify");  // HK-111
}

// HK-115: a failed start leaves no agent.
TEST_F(Spawn, AFailedStartSaysWhyAndLeavesNothing) {
  SpawnOptions wrapped = child("bad");
  wrapped.command = {"sh", "-c", "echo first; echo last words; exit 3"};
  SpawnOptions missing = child("bad");
  missing.command = {"/no/such/program"};
  SpawnOptions unknown = child("bad");
  unknown.command = {"no-such-program-anywhere"};
  SpawnOptions late = child("bad");
  late.command = {"sleep", "1000"};
  late.ready_within = 50ms;
  SpawnOptions killed = child("bad");
  killed.command = {"sh", "-c", "kill -9 $$"};
  SpawnOptions nowhere = child("bad");
  nowhere.directory = "/no/such/directory";
  const std::vector<std::pair<SpawnOptions, std::vector<std::string>>> table = {
      {wrapped, {"exited with status 3 before it was ready", "first\nlast words"}},
      {missing, {"cannot start /no/such/program: No such file or directory"}},
      {unknown, {"cannot start no-such-program-anywhere: no such program in PATH"}},
      {late, {"never ready within 50 ms"}},
      {killed, {"signal 9 ended it before it was ready"}},
      {nowhere, {"enter the directory: No such file or directory"}},
  };
  for (const auto& [options, texts] : table) {
    const auto spawned = processes().spawn(options);
    ASSERT_FALSE(spawned);
    const bool is_late = options.command.front() == "sleep";
    EXPECT_EQ(spawned.error().code == ErrorCode::kTimeout, is_late) << spawned.error().text;
    for (const std::string& text : texts) {
      EXPECT_NE(spawned.error().text.find(text), std::string::npos) << spawned.error().text;
    }
    const auto found = boss().find("bad");
    EXPECT_TRUE(!found || found->state == State::kDead);
  }
  EXPECT_FALSE(listed("bad"));
}

// HK-103, HK-180, C-33: the rules are asked before anything starts.
TEST_F(Spawn, ARefusedSpawnStartsNothing) {
  const auto text_of = [this](const SpawnOptions& options) {
    const auto spawned = processes().spawn(options);
    return spawned ? std::string() : spawned.error().text;
  };
  SpawnOptions options = child("x");
  options.parent = "nobody";
  EXPECT_NE(text_of(options).find("spawn: validation failed: parent"), std::string::npos);
  options = child("");
  EXPECT_NE(text_of(options).find("process name is required"), std::string::npos);
  options = child("x");
  options.role = "kernel";
  EXPECT_TRUE(text_of(options).starts_with("spawn denied: ")) << text_of(options);
  options = child("x");
  options.parent = "1";
  EXPECT_NE(text_of(options).find("is none of them"), std::string::npos);
  spawn(child("twin"));
  EXPECT_NE(text_of(child("twin")).find("the name belongs to"), std::string::npos);
  SpawnOptions small = child("small");
  small.limits.max_children = 1;
  spawn(small);
  options = child("first");
  options.parent = "small";
  spawn(options);
  options.name = "second";
  EXPECT_NE(text_of(options).find("has 1 children, max is 1"), std::string::npos);
  for (const auto* const name : {"twin", "small", "first"}) EXPECT_EQ(ask(name, "hello"), "hello");
  EXPECT_EQ(ledger().size(), 3U);
}

TEST_F(Spawn, AKeyStartsOneChildAndRepeatsTheAnswer) {
  SpawnOptions options = child("once");
  options.key = "job 7";
  const Pid pid = spawn(options);
  EXPECT_EQ(spawn(options), pid);
  EXPECT_EQ(ask("once", "hello"), "hello");
  EXPECT_EQ(ledger().size(), 1U);
}

TEST_F(Spawn, AMalformedRequestIsAnsweredWithItsFault) {
  for (const auto& [type, json, text] : std::vector<std::array<std::string, 3>>{
           {"hive.spawn", "{", "no JSON"},
           {"hive.spawn", R"({"name":"x","command":["a"],"colour":1})", "unknown key"},
           {"hive.wait", R"({"child":7})", "must be a text"},
           {"hive.fly", "{}", "does not know requests"},
           {"hive.apply", R"({"text":""})", "only commands of the hive's user"}}) {
    const auto answer = Json::parse(ask_king(type, json));
    const std::string found = answer["error"]["text"];
    EXPECT_NE(found.find(text), std::string::npos) << found;
  }
}

TEST_F(Spawn, TwoHundredChildrenStartAtOnce) {
  constexpr std::size_t kCount = 200;
  SpawnOptions parent = child("crowd");
  parent.limits.max_children = 0;
  spawn(parent);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kCount; ++i) {
    texts.push_back(Json{
        {"name", "c" + std::to_string(i)},
        {"parent", "crowd"},
        {"command", {os::executable_directory() + "/steward-child", "serve"}},
        {"ready_within_ms",
         100'000}}.dump());
  }
  std::vector<Request> requests;
  SendOptions send;
  send.type = "hive.spawn";
  for (const std::string& text : texts) requests.push_back({Pid{1}, text, send});
  const auto answers = boss().request_all(requests, after(100s));
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_TRUE(Json::parse(answer->text()).contains("pid")) << answer->text();
  }
  EXPECT_EQ(processes().list(true)->size(), kCount + 1);
}

}  // namespace
}  // namespace beeline::steward::test
