// Requests to the steward have each option; an answer of another form names its fault.

#include "src/agent/process_json.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

namespace beeline {
namespace {

using Json = nlohmann::json;

Json json_of(const Result<std::string>& request) {
  EXPECT_TRUE(request) << request.error().text;
  return request ? Json::parse(*request) : Json();
}

constexpr std::string_view kExit =
    R"({"pid":7,"exit_code":-1,"signal":9,"known":true,"reason":"killed","output":"bye\n"})";

TEST(ProcessJson, ASpawnHasAllOptionsAndLeavesEmptyOnesOut) {
  const Json plain = json_of(spawn_request({.name = "w", .command = {"sleep", "1"}}));
  for (const char* const left_out : {"parent", "tier", "model", "directory", "uid", "restart"}) {
    EXPECT_FALSE(plain.contains(left_out)) << left_out;
  }
  EXPECT_EQ(plain["command"], Json({"sleep", "1"}));
  EXPECT_EQ(plain["environment"], Json::object());
  EXPECT_EQ(plain["limits"]["max_children"], 10);
  EXPECT_EQ(plain["ready_within_ms"], 10000);

  const Json full = json_of(spawn_request({.name = "w",
                                           .command = {"x"},
                                           .parent = "4",
                                           .role = "task",
                                           .tier = "operational",
                                           .model = "mini",
                                           .directory = "/",
                                           .environment = {{"A", "b"}, {"B", ""}},
                                           .uid = 0,
                                           .restart = "never",
                                           .limits = {.memory_bytes = UINT64_MAX},
                                           .grace = std::chrono::milliseconds(3),
                                           .key = "once"}));
  EXPECT_EQ(full["parent"], "4");
  EXPECT_EQ(full["tier"], "operational");
  EXPECT_EQ(full["environment"], Json({{"A", "b"}, {"B", ""}}));
  EXPECT_EQ(full["uid"], 0);
  EXPECT_EQ(full["restart"], "never");
  EXPECT_EQ(full["limits"]["memory_bytes"], UINT64_MAX);
  EXPECT_EQ(full["grace_ms"], 3);
  EXPECT_EQ(full["key"], "once");
}

TEST(ProcessJson, TheOtherRequestsNameTheChild) {
  EXPECT_EQ(json_of(kill_request("a \"b\"", false)),
            Json({{"child", "a \"b\""}, {"recursive", false}}));
  EXPECT_EQ(json_of(wait_request("7", std::chrono::seconds(2))),
            Json({{"child", "7"}, {"timeout_ms", 2000}}));
  EXPECT_EQ(Json::parse(list_request(true)), Json({{"recursive", true}}));
  EXPECT_EQ(json_of(signal_request("7", Signal::kUser2)),
            Json({{"child", "7"}, {"signal", "USR2"}}));
  EXPECT_EQ(json_of(sleep_request(kWakeRequest, "7")), Json({{"child", "7"}}));
  EXPECT_EQ(signal_request("7", static_cast<Signal>(8)).error().code, ErrorCode::kInvalid);
}

TEST(ProcessJson, ATextThatIsNoUtf8IsRefused) {
  const auto refused = spawn_request({.name = "w", .command = {"sh", "\xff"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_NE(refused.error().text.find("no UTF-8"), std::string::npos) << refused.error().text;
  EXPECT_FALSE(kill_request("\xff", true));
}

TEST(ProcessJson, AnswersAreRead) {
  const auto spawned = read_spawned(R"({"pid":7,"name":"w","os_pid":4242,"more":[]})");
  ASSERT_TRUE(spawned) << spawned.error().text;
  EXPECT_EQ(spawned->pid, 7U);
  EXPECT_EQ(spawned->name, "w");
  EXPECT_EQ(spawned->os_pid, 4242);
  EXPECT_EQ(read_killed(R"({"killed":[9,8,7]})").value(), (std::vector<Pid>{9, 8, 7}));
  EXPECT_EQ(read_state(kSleepRequest, R"({"pid":7,"state":"sleeping"})").value(), "sleeping");
  const auto end = read_exit(kExit);
  ASSERT_TRUE(end) << end.error().text;
  EXPECT_EQ(end->exit_code, -1);
  EXPECT_EQ(end->signal, 9);
  EXPECT_EQ(end->reason + end->output, "killedbye\n");

  const std::string child =
      R"({"pid":7,"parent":2,"name":"w","role":"worker","tier":"operational","model":"mini",)"
      R"("state":"ended","restart":"notify","os_pid":0,"restarts":3,"started_unix_ns":5,)"
      R"("log":"/l")";
  const auto listed = read_children(R"({"children":[)" + child + "}," + child + R"(,"end":)" +
                                    std::string(kExit) + "}]}");
  ASSERT_TRUE(listed) << listed.error().text;
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_FALSE(listed->front().end);
  EXPECT_EQ(listed->back().restarts, 3U);
  EXPECT_EQ(listed->back().end->signal, 9);
}

TEST(ProcessJson, AnErrorOfTheStewardKeepsItsCodeAndItsWords) {
  const auto refused =
      read_spawned(R"({"error":{"code":"no_agent","text":"process not found: \"x\""}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoAgent);
  EXPECT_EQ(refused.error().text, "process not found: \"x\"");
  const auto odd = read_exit(R"({"error":7})");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(odd.error().text, "the steward refused hive.wait and gave no reason");
}

TEST(ProcessJson, AnAnswerOfAnotherFormNamesTheValue) {
  struct Broken {
    const char* answer;
    const char* words;
  };
  constexpr std::array kBroken = {
      Broken{"", "\"pid\" must be a number, it is nothing"},
      Broken{"[]", "\"pid\" must be a number, it is nothing"},
      Broken{R"({"pid":-7})", "\"pid\" must be a number from 0 to 4294967295, it is -7"},
      Broken{R"({"pid":4294967296})", "it is 4294967296"},
      Broken{R"({"pid":7.5})", "it is 7.5"},
      Broken{R"({"pid":7,"name":null})", "\"name\" must be a text, it is null"},
      Broken{R"({"pid":7,"name":"w"})", "\"os_pid\" must be a number, it is nothing"},
  };
  for (const Broken& each : kBroken) {
    const auto read = read_spawned(each.answer);
    ASSERT_FALSE(read) << each.answer;
    EXPECT_EQ(read.error().code, ErrorCode::kProtocol);
    EXPECT_NE(read.error().text.find(each.words), std::string::npos) << read.error().text;
  }
  EXPECT_FALSE(read_killed(R"({"killed":[1,"2"]})"));
  EXPECT_FALSE(read_children(R"({"children":{}})"));
  EXPECT_FALSE(read_children(R"({"children":[7]})"));
}

}  // namespace
}  // namespace beeline
