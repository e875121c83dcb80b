// beeline policy, up --check, up --config, and apply.

#include <fstream>
#include <string>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

// Two agents, one below the other, and a third.
constexpr auto kStartFile = R"(agents:
  queen:
    command: ["${BEELINE_BIN}/beeline", reply, queen, --echo]
    role: lead
    children:
      worker: {command: ["${BEELINE_BIN}/beeline", reply, worker, --echo], ready_within: 60s}
  scout: {command: ["${BEELINE_BIN}/beeline", reply, scout, --echo], ready_within: 60s}
)";

class CliStartFile : public CliTest {
 protected:
  [[nodiscard]] std::string write(const std::string& text) const {
    const std::string path = folder_ + "/hive.yaml";
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] std::string write_with(const std::string& from, const std::string& to) const {
    std::string text = kStartFile;
    return write(text.replace(text.find(from), from.size(), to));
  }
  static std::string pid_of(const std::string& name) {
    for (const json& child : good_json({"ps"})) {
      if (child.at("name") == name && child.at("state") != "ended") return child.at("pid").dump();
    }
    return "";
  }
};

TEST_F(CliStartFile, ACheckTellsAllMistakesAndStartsNothing) {
  const std::string path = write("agents:\n  a: {role: boss}\n  b: {command: [x], hue: red}\n");
  const std::string told = bad(2, {"up", "--check", path});
  EXPECT_TRUE(contains(told, path + ":2:13: role is \"boss\"; take one of daemon")) << told;
  EXPECT_TRUE(contains(told, path + ":2:3: \"a\" has no command")) << told;
  EXPECT_TRUE(contains(told, path + ":3:21: \"b\" has no key \"hue\"")) << told;
  EXPECT_EQ(bad(2, {"up", "--config", path}), told);
  EXPECT_TRUE(contains(bad(1, {"up", "--check", folder_ + "/none"}), "none"));
  EXPECT_TRUE(contains(bad(2, {"up", "--check", path, "--config", path}), "excludes"));
  EXPECT_TRUE(contains(bad(2, {"up", "--config", ""}), "the path is empty"));
  EXPECT_FALSE(is_up());
}

TEST_F(CliStartFile, ACheckShowsTheTreeOfASoundFile) {
  const std::string path = write(kStartFile);
  const std::string shown = good({"up", "--check", path});
  EXPECT_TRUE(shown.starts_with(path + ": OK, 3 agents\n")) << shown;
  EXPECT_TRUE(contains(shown, "\n  worker  worker  operational  mini")) << shown;
  const json tree = good_json({"up", "--check", path});
  EXPECT_EQ(tree.at("agents").size(), 3U);
  EXPECT_EQ(tree.at("agents")[1].at("parent"), "queen");
  EXPECT_EQ(tree.at("agents")[1].at("directory"), folder_);
  EXPECT_EQ(json::parse(good({"up", "--check", "-", "--json"}, kStartFile)).at("file"), "stdin");
  EXPECT_TRUE(contains(bad(2, {"up", "--hive", "b", "--check", write("hive: a\nagents: {}")}),
                       "the file is for hive \"a\", --hive says \"b\""));
  EXPECT_FALSE(is_up());
}

TEST_F(CliStartFile, AHiveStartsWithItsAgentsAndFollowsTheFile) {
  EXPECT_EQ(beeline({"apply", write(kStartFile)}).code, 3);  // no hive runs
  const std::string started = good({"up", "--config", write(kStartFile)});
  EXPECT_TRUE(contains(started, "listens at ")) << started;
  EXPECT_TRUE(contains(started, "started    worker\n")) << started;
  EXPECT_EQ(good({"request", "worker", "hello"}), "hello\n");
  const std::string queen = pid_of("queen");
  const std::string worker = pid_of("worker");

  // A second apply changes nothing.
  EXPECT_EQ(good({"apply", write(kStartFile)}), "3 as before\n");
  const json restarted = good_json({"apply", write_with("60s}\n  scout", "50s}\n  scout")});
  EXPECT_EQ(restarted.at("restarted"), json({"worker"}));
  EXPECT_EQ(restarted.at("same"), 2);
  EXPECT_EQ(pid_of("worker"), worker);
  EXPECT_EQ(pid_of("queen"), queen);
  EXPECT_EQ(good({"request", "worker", "again"}), "again\n");

  const json ended = good_json({"apply", write("agents: {}")});
  EXPECT_EQ(ended.at("ended"), json({"worker", "queen", "scout"}));
  EXPECT_EQ(pid_of("queen") + pid_of("worker") + pid_of("scout"), "");
  EXPECT_TRUE(contains(bad(2, {"apply", write("agents: {a: }")}), ":1:13: \"a\" is empty"));
}

TEST_F(CliStartFile, ThePolicyIsShownByRole) {
  const std::string shown = good({"policy"});
  EXPECT_TRUE(contains(shown, "architect  strategic    opus    never")) << shown;
  EXPECT_TRUE(contains(shown, "shell_exec")) << shown;
  const json roles = good_json({"policy"}).at("roles");
  ASSERT_EQ(roles.size(), 7U);
  EXPECT_EQ(roles[6].at("role"), "task");
  EXPECT_EQ(roles[6].at("actions"), json({"send_message", "read_artifact", "escalate"}));
  EXPECT_EQ(roles[6].at("capabilities"), json({"file_read", "escalate"}));
}

}  // namespace
}  // namespace beeline::test
