#include "src/steward/request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace beeline::steward {
namespace {

TEST(StewardRequest, ASpawnHasTheDefaultsOfItsOptions) {
  const auto request = parse_request("hive.spawn", R"({"name":"a","command":["p"]})");
  ASSERT_TRUE(request) << request.error().text;
  const SpawnOptions& options = std::get<SpawnRequest>(*request).options;
  const SpawnOptions defaults;
  EXPECT_EQ(options.name, "a");
  EXPECT_EQ(options.role, defaults.role);
  EXPECT_EQ(options.ready_within, defaults.ready_within);
  EXPECT_EQ(options.grace, defaults.grace);
  EXPECT_EQ(options.limits.output_bytes, defaults.limits.output_bytes);
  EXPECT_FALSE(options.uid);
}

TEST(StewardRequest, ASpawnComesBackFromItsText) {
  SpawnOptions options;
  options.name = "n";
  options.command = {"a", "b c"};
  options.environment = {{"A", "1"}};
  options.uid = 7;
  options.limits.memory_bytes = 1 << 20;
  options.grace = std::chrono::milliseconds(3);
  const auto back = parse_spawn(spawn_text(options));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(spawn_text(*back), spawn_text(options));
  EXPECT_EQ(back->uid, options.uid);
}

TEST(StewardRequest, EachFaultIsNamed) {
  const std::string spawn = R"({"name":"a","command":["p"])";
  struct Row {
    std::string type;
    std::string payload;
    std::string text;
  };
  const std::vector<Row> table = {
      {"hive.spawn", "[]", "must be a JSON object"},
      {"hive.spawn", "{", "is no JSON"},
      {"hive.spawn", R"({"name":"a"})", "\"command\" must name a program"},
      {"hive.spawn", R"({"name":"a","command":[""]})", "\"command\" must name a program"},
      {"hive.spawn", R"({"name":"a","command":"p"})", "must be a list of texts"},
      {"hive.spawn", R"({"name":"a","command":["p\u0000"]})", "no NUL"},
      {"hive.spawn", spawn + R"(,"nam":1})", "unknown key \"nam\""},
      {"hive.spawn", spawn + R"(,"role":"boss"})", "must be one of kernel, daemon"},
      {"hive.spawn", spawn + R"(,"tier":"top"})", "must be one of strategic"},
      {"hive.spawn", spawn + R"(,"restart":"often"})", "must be one of always"},
      {"hive.spawn", spawn + R"(,"uid":-1})", "must be a number from 0 to 4294967294"},
      {"hive.spawn", spawn + R"(,"grace_ms":240001})", "from 0 to 240000, it is 240001"},
      {"hive.spawn", spawn + R"(,"ready_within_ms":0})", "must be 1 to 3600000, it is 0"},
      {"hive.spawn", spawn + R"(,"environment":{"A=":"b"}})", "has no '='"},
      {"hive.spawn", spawn + R"(,"environment":{"A":1}})", "an object of texts"},
      {"hive.spawn", spawn + R"(,"limits":{"output_bytes":1}})", "from 4096 to 1073741824"},
      {"hive.spawn", spawn + R"(,"limits":{"speed":1}})", "unknown key \"speed\""},
      {"hive.spawn", spawn + ",\"name\":\"" + std::string(300'000, 'x') + "\"}", "at most 262144"},
      {"hive.kill", "{}", "\"child\" is missing"},
      {"hive.kill", R"({"child":"a","recursive":1})", "true or false"},
      {"hive.wait", R"({"child":"a","timeout_ms":"x"})", "a number from 0"},
      {"hive.signal", R"({"child":"a","signal":"SEGV"})", "must be TERM, KILL"},
      {"hive.sleep", "{}", "\"child\" is missing"},
      {"hive.wake", R"({"child":"a","signal":"CONT"})", "unknown key"},
      {"hive.list", R"({"recursively":true})", "unknown key"},
      {"hive.apply", "{}", "\"text\" is missing"},
      {"hive.dance", "{}", "pid 1 does not know"},
  };
  for (const Row& row : table) {
    const auto request = parse_request(row.type, row.payload);
    ASSERT_FALSE(request) << row.payload;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalid);
    EXPECT_NE(request.error().text.find(row.text), std::string::npos) << request.error().text;
  }
}

}  // namespace
}  // namespace beeline::steward
