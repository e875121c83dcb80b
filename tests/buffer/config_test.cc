// koshi.yaml: KO-005, KO-012, KO-026, C-19, C-29, C-32.

#include "src/buffer/config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace beeline::buffer {
namespace {

Result<Config> read(const std::string& text, const std::string& secrets = "") {
  ConfigSource source{.text = text, .name = "koshi.yaml", .secrets_name = "secrets.yaml"};
  source.lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PORT") return "80";
    if (name == "LINES") return "a: 1\nb: 2\nc";
    return std::nullopt;
  };
  if (!secrets.empty()) source.secrets_text = secrets;
  return read_config(source);
}

std::string mistake_of(const std::string& text, const std::string& secrets = "") {
  const auto config = read(text, secrets);
  return config ? "" : config.error().text;
}

TEST(BufferConfig, AnEmptyFileHasTheDefaultsOfTheDocument) {  // KO-026, C-19, C-32
  for (const char* const text : {"", "name: koshi", "buffer:\nroutes: []\nplugins:\n"}) {
    const auto config = read(text);
    ASSERT_TRUE(config) << config.error().text;
    EXPECT_EQ(config->retention_days, 7U);
    EXPECT_EQ(config->batch_window, std::chrono::milliseconds(500));
    EXPECT_EQ(config->warn_threshold, 1000U);
    EXPECT_EQ(config->rules.fallback, Destination::kMain);
    EXPECT_TRUE(config->rules.routes.empty());
    EXPECT_EQ(config->channels.of("telegram"), 100);
    EXPECT_TRUE(config->warnings.empty());
  }
}

TEST(BufferConfig, EachKeyIsRead) {  // KO-005, KO-012
  const auto config = read(R"(
buffer: {retentionDays: 3, batchWindowMs: 20, warnThreshold: 5, maxBatchMessages: 9,
         maxBatchBytes: 64K, maxTasks: 2,
         templates: {r: {command: [prog, -v], environment: {A: b}, timeoutSeconds: 5}}}
defaultRoute: drop
plugins:
  - name: "@koshi/telegram"
    token: ${PORT}
    priority: 10
  - "@koshi/bare"
  - {name: web, priority: -1}
routes:
  - match: {channel: gh, event: push, action: opened, from: "*"}
    action: {spawn: {template: reviewer, task: "Review {number}"}}
    priority: 40
  - action: {forward: main-agent}
  - match:
    action: {drop: true}
  - action: {spawn: {skill: old, autoRun: true}}
)");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->retention_days, 3U);
  EXPECT_EQ(config->batch_window, std::chrono::milliseconds(20));
  EXPECT_EQ(config->warn_threshold, 5U);
  EXPECT_EQ(config->batch_limits.messages, 9U);
  EXPECT_EQ(config->batch_limits.bytes, 64U << 10);
  EXPECT_EQ(config->max_tasks, 2U);
  EXPECT_EQ(config->templates.at("r").command, (std::vector<std::string>{"prog", "-v"}));
  EXPECT_EQ(config->templates.at("r").timeout, std::chrono::seconds(5));
  EXPECT_EQ(config->channels.of("telegram"), 10);
  EXPECT_EQ(config->channels.of("@koshi/telegram"), 10);
  EXPECT_EQ(config->channels.of("web"), -1);
  EXPECT_EQ(config->rules.fallback, Destination::kDrop);
  const auto& routes = config->rules.routes;
  ASSERT_EQ(routes.size(), 4U);
  EXPECT_EQ(routes[0].match.channel, "gh");
  EXPECT_EQ(routes[0].match.event, "push");
  EXPECT_EQ(routes[0].match.action, "opened");
  EXPECT_EQ(routes[0].match.from, "*");
  EXPECT_EQ(routes[0].action, (Action{Destination::kSpawn, "reviewer", "Review {number}"}));
  EXPECT_EQ(routes[0].priority, 40);
  EXPECT_EQ(routes[1].action.destination, Destination::kMain);
  EXPECT_EQ(routes[2].action.destination, Destination::kDrop);
  EXPECT_EQ(routes[3].action.agent_template, "old");
  EXPECT_EQ(
      config->warnings,
      (std::vector<std::string>{"koshi.yaml:19:34: the key \"autoRun\" of spawn has no effect"}));
}

TEST(BufferConfig, ReferencesAreReplacedBeforeTheYamlIsRead) {  // KO-026
  const auto config = read(
      "# ${NOT_SET} in a comment\n"
      "buffer: {retentionDays: ${secrets.buffer.days}, batchWindowMs: ${PORT}0}\n"
      "x: $PORT ${\n",
      "buffer: {days: 2}");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->retention_days, 2U);
  EXPECT_EQ(config->batch_window, std::chrono::milliseconds(800));
}

TEST(BufferConfig, AMissingReferenceIsNamedWithItsPlace) {  // KO-026
  EXPECT_EQ(mistake_of("a: b\n  # ${C}\nx: ${NOT_SET} ${secrets.a.b}", "a: {c: x}"),
            "koshi.yaml:3:4: Environment variable \"NOT_SET\" is referenced in config but not set; "
            "set it, or write its value\n"
            "koshi.yaml:3:15: Secret \"a.b\" is referenced in config but not found in "
            "secrets.yaml; add it there");
}

TEST(BufferConfig, AMistakeHasItsPlaceInTheFileWhateverWasReplaced) {
  EXPECT_EQ(mistake_of("${LINES}: x\nbuffer: {batchWindowMs: ${PORT}, retentionDays: x}"),
            "koshi.yaml:2:49: retentionDays is \"x\"; write a whole number from 0 to 36500");
  EXPECT_TRUE(mistake_of("buffer: {warnThreshold: ${LINES}}").starts_with("koshi.yaml:1:25: "));
  EXPECT_TRUE(mistake_of("x: 1\nsecret: ${PORT}\ny: [").starts_with("koshi.yaml:3:"));
}

TEST(BufferConfig, EachMistakeIsNamed) {
  struct Row {
    std::string text;
    std::string wanted;
  };
  const std::vector<Row> table = {
      {"[]", "1:1: the file is a list"},
      {"buffer: {batchWindowMs: 0}", "1:25: batchWindowMs is \"0\"; write a whole number from 1"},
      {"buffer: {batchWindowMs: 1.5}", "batchWindowMs is \"1.5\""},
      {"buffer: {maxBatchBytes: 1T}", "maxBatchBytes is \"1T\""},
      {"buffer: 7", "buffer is a text"},
      {"buffer: {templates: {a: {role: x}}}", "the template a has no command"},
      {"buffer: {templates: {a: {command: [p], x: y}}}", "has no key \"x\""},
      {"buffer: {templates: {a: {command: p}}}", "command must be a list"},
      {"plugins: {}", "plugins must be a list"},
      {"plugins: [{priority: 3}]", "a plugin with a priority has no name"},
      {"plugins: [{name: a, priority: high}]", "priority is \"high\"; write a whole number"},
      {"plugins: [{name: a, priority: 3000000000}]", "write a whole number from -2147483648"},
      {"routes: {}", "routes must be a list"},
      {"routes: [x]", "a route is a text"},
      {"routes: [{match: {}}]", "1:10: a route has no action"},
      {"routes: [{action: {}}]", "an action is one of forward: main-agent"},
      {"routes: [{action: {drop: true, forward: m}}]", "an action is one of"},
      {"routes: [{action: {drop: maybe}}]", "drop is \"maybe\"; write true or false"},
      {"routes: [{action: {drop: false}}]", "drop is false; write true"},
      {"routes: [{action: {spawn: {task: t}}}]", "spawn has no template"},
      {"routes: [{action: {spawn: name}}]", "spawn is a text"},
      {"routes: [{match: {from: []}, action: {drop: true}}]", "from is a list"},
      {"defaultRoute: spawn", "1:15: defaultRoute is \"spawn\"; write main or drop"},
      {"a: &x [1]\nb: *y", "2:"},
      {"a: {", "no YAML"},
      {std::string("a: \x01"), "control character"},
  };
  for (const Row& row : table) {
    EXPECT_NE(mistake_of(row.text).find(row.wanted), std::string::npos) << row.text << "\n"
                                                                        << mistake_of(row.text);
  }
  EXPECT_NE(mistake_of("a: b", "a: [1]").find("secrets.yaml:1:1: a is a list"), std::string::npos);
  EXPECT_NE(mistake_of("a: b", "{").find("secrets.yaml:"), std::string::npos);
}

}  // namespace
}  // namespace beeline::buffer
