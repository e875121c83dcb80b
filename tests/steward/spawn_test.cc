// Spawns: ready, failed with each reason, refused, repeated.

#include <nlohmann/json.hpp>

#include "src/os/event_fd.h"
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

// Pid 1 hears that an agent is ready before it knows its role.
TEST_F(Spawn, AnAgentThatHasJustAttachedMayBeTheParent) {
  ASSERT_TRUE(processes().list());
  AttachOptions as;
  as.name = "under";
  as.parent = boss().name();
  as.role = "lead";
  const auto under = Agent::attach(as);
  ASSERT_TRUE(under) << under.error().text;
  SpawnOptions options = child("below");
  options.parent = "under";
  const auto spawned = processes().spawn(options);
  ASSERT_TRUE(spawned) << spawned.error().text;
  EXPECT_EQ(boss().info(spawned->pid)->parent, under->pid());
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
  // A child that was killed has left its place.
  EXPECT_TRUE(processes().kill("first"));
  EXPECT_EQ(text_of(options), "");
  EXPECT_EQ(ask("second", "hello"), "hello");
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

// The text of a request for one child of `crowd`.
std::string crowd_text(std::size_t number) {
  return Json{{"name", "c" + std::to_string(number)},
              {"parent", "crowd"},
              {"command", {os::executable_directory() + "/steward-child", "serve"}},
              {"ready_within_ms", 100'000}}
      .dump();
}

class Crowd : public StewardTest {
 protected:
  // Asks for so many children at once and returns all answers.
  std::vector<Json> ask_for(std::size_t count, std::uint32_t max_children) {
    SpawnOptions parent = child("crowd");
    parent.limits.max_children = max_children;
    spawn(parent);
    std::vector<Json> answers;
    std::size_t failed = 0;
    const AnswerHandler keep = [&](Result<Message> answer) {
      EXPECT_TRUE(answer) << answer.error().text;
      answer ? answers.push_back(Json::parse(answer->text())) : void(++failed);
    };
    SendOptions send;
    send.type = "hive.spawn";
    for (std::size_t sent = 0; answers.size() + failed < count;) {
      while (sent < count &&
             boss().request_then(Pid{1}, crowd_text(sent), after(200s), keep, send)) {
        ++sent;
      }
      EXPECT_FALSE(boss().try_receive());
      const auto next = boss().run_answers();
      EXPECT_TRUE(next);
      (void)os::wait_readable(boss().fd(), 100ms);
    }
    return answers;
  }
};

TEST_F(Crowd, TwoHundredChildrenStartAtOnce) {
  constexpr std::size_t kCount = 200;
  for (const Json& answer : ask_for(kCount, 0)) EXPECT_TRUE(answer.contains("pid")) << answer;
  EXPECT_EQ(processes().list(true)->size(), kCount + 1);
}

TEST_F(Crowd, TenThousandSpawnsAtOnceKeepTheLimitAndAreAllAnswered) {
  constexpr std::size_t kCount = 10'000;
  constexpr std::uint32_t kMost = 3;
  std::size_t started = 0;
  std::size_t refused = 0;
  for (const Json& answer : ask_for(kCount, kMost)) {
    if (answer.contains("pid")) {
      ++started;
    } else if (answer["error"]["text"].get<std::string>().find("max is 3") != std::string::npos) {
      ++refused;
    }
  }
  EXPECT_EQ(started, kMost);
  EXPECT_EQ(refused, kCount - kMost);
  EXPECT_EQ(ask("crowd", "hello"), "hello");
}

}  // namespace
}  // namespace beeline::steward::test
