// The start file: both forms, and a table of mistakes.

#include "src/steward/start_file.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace beeline::steward::test {
namespace {

using namespace std::chrono_literals;

std::optional<std::string> variable(const std::string& name) {
  if (name == "HOME_OF_BEES") return "/srv/bees";
  return std::nullopt;
}

Result<StartFile> read(std::string_view text) {
  return read_start_file({text, "hive.yaml", "/etc/hive", variable});
}

std::string errors(std::string_view text) {
  const auto file = read(text);
  return file ? "" : file.error().text;
}

TEST(StewardStartFile, TheOwnFormIsReadWhole) {
  const auto file = read(R"(hive: bees
agents:
  queen:
    command: [./queen, --home, "${HOME_OF_BEES}/q", "$${X}", 7]
    role: lead
    model: opus
    restart: on-failure
    uid: 1001
    directory: work
    environment: {A: "${HOME_OF_BEES}", B: "", C: 5}
    limits: {memory: 512M, cpu: 1m, open_files: 64, processes: 9, max_children: 20, output: 4K}
    ready_within: 500ms
    grace: 2
    children:
      worker-1: &w {command: [./w], children: {t: {command: [t], role: task, directory: /tmp}}}
  scout: {command: [s]}
)");
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_EQ(file->hive, "bees");
  EXPECT_EQ(file->variables, (std::map<std::string, std::string>{{"HOME_OF_BEES", "/srv/bees"}}));
  ASSERT_EQ(file->agents.size(), 4U);
  EXPECT_TRUE(file->warnings.empty());
  const SpawnOptions& queen = file->agents[0].options;
  EXPECT_EQ(file->agents[0].line, 3);
  EXPECT_EQ(queen.command,
            (std::vector<std::string>{"./queen", "--home", "/srv/bees/q", "${X}", "7"}));
  EXPECT_EQ(queen.role + queen.tier + queen.model + queen.restart, "leadtacticalopuson-failure");
  EXPECT_EQ(queen.uid, 1001U);
  EXPECT_EQ(queen.directory, "/etc/hive/work");
  EXPECT_EQ(queen.environment,
            (std::map<std::string, std::string>{{"A", "/srv/bees"}, {"B", ""}, {"C", "5"}}));
  EXPECT_EQ(queen.limits.memory_bytes, 512U << 20);
  EXPECT_EQ(queen.limits.cpu_seconds, 60U);
  EXPECT_EQ(queen.limits.open_files, 64U);
  EXPECT_EQ(queen.limits.processes, 9U);
  EXPECT_EQ(queen.limits.max_children, 20U);
  EXPECT_EQ(queen.limits.output_bytes, 4096U);
  EXPECT_EQ(queen.ready_within, 500ms);
  EXPECT_EQ(queen.grace, 2s);
  const SpawnOptions& task = file->agents[2].options;
  EXPECT_EQ(file->agents[1].options.parent, "queen");
  EXPECT_EQ(file->agents[1].options.directory, "/etc/hive");
  EXPECT_EQ(task.parent, "worker-1");
  EXPECT_EQ(task.tier + task.model + task.restart + task.directory, "operationalmininever/tmp");
}

// Every line of a text that begins with the place and has these words.
struct Mistake {
  std::string_view text;
  std::string_view error;
};

constexpr std::array kMistakes = std::to_array<Mistake>({
    {"", "hive.yaml:1:1: the file is empty; write `agents:`"},
    {"hive: x", "hive.yaml:1:1: the file has no agents"},
    {"- a", "hive.yaml:1:1: the file is a list; write a map"},
    {"agents: 5", "hive.yaml:1:9: agents is a text; write a map"},
    {"agents: {}\nhve: x", "hive.yaml:2:1: the file has no key \"hve\"; its keys are agents, hive"},
    {"hive: a/b\nagents: {}", "hive.yaml:1:7: "},
    {"agents: {a: {command: [x], comand: [y]}}", "1:28: \"a\" has no key \"comand\""},
    {"agents: {a: {role: lead}}", "1:10: \"a\" has no command; write command: [PROGRAM"},
    {"agents: {a: {command: ls -l}}", "1:23: command is no list of words"},
    {"agents: {a: {command: []}}", "1:23: command is no list of words"},
    {"agents: {a: {command: [[x]]}}", "1:24: a word of the command is a list; write a text"},
    {"agents: {a: {command: [\"\"]}}", "1:23: the program of the command is empty"},
    {"agents:\n  a: {command: [x]}\n  a: {command: [y]}",
     "3:3: the key \"a\" of agents stands in line 2 already; keep one"},
    {"agents:\n  a: {command: [x], children: {b: {command: [x]}}}\n  b: {command: [y]}",
     "3:3: an agent \"b\" stands in line 2 already; take another name"},
    {"agents: {17: {command: [x]}}", "1:10: "},
    {"agents: {king: {command: [x]}}", "1:10: \"king\" is the name of pid 1"},
    {"agents: {[a]: {command: [x]}}", "a key of agents is a list; write a text"},
    {"agents: {a: {command: [x], role: boss}}",
     "1:34: role is \"boss\"; take one of daemon, agent, architect, lead, worker, task"},
    {"agents: {a: {command: [x], role: kernel}}", "1:34: role is \"kernel\"; take one of daemon"},
    {"agents: {a: {command: [x], tier: high}}",
     "1:34: tier is \"high\"; take one of strategic, tactical, operational"},
    {"agents: {a: {command: [x], restart: yes}}",
     "1:37: restart is \"yes\"; take one of always, on-failure, notify, never"},
    {"agents: {a: {command: [x], role: task, tier: strategic}}",
     "1:10: \"a\" is a task of the tier strategic"},
    {"agents: {a: {command: [x], role: lead, children: {b: {command: [y], tier: strategic}}}}",
     "1:51: the tier strategic of \"b\" exceeds tactical, that of a"},
    {"agents: {a: {command: [x], role: task, children: {b: {command: [y]}}}}",
     "1:51: \"b\" is a child of \"a\", but the role task may not have children"},
    {"agents: {a: {command: [x], limits: {max_children: 1}, children: "
     "{b: {command: [y]}, c: {command: [z]}}}}",
     "1:85: \"c\" is child 2 of a, at most 1; raise its limit max_children"},
    {"agents: {a: {command: [x], limits: {memory: 5Q}}}", "1:45: memory is \"5Q\"; write bytes"},
    {"agents: {a: {command: [x], limits: {memory: 99999999999G}}}", "1:45: memory is "},
    {"agents: {a: {command: [x], limits: {open_files: -1}}}",
     "1:49: open_files is \"-1\"; write a whole number from 16 to 1048576"},
    {"agents: {a: {command: [x], limits: {fds: 1}}}",
     "1:37: limits has no key \"fds\"; its keys are memory, cpu, open_files"},
    {"agents: {a: {command: [x], ready_within: 0}}",
     "1:42: ready_within is \"0\"; write a time from 1ms to 3600s"},
    {"agents: {a: {command: [x], uid: root}}", "1:33: uid is \"root\"; write a whole number"},
    {"agents: {a: {command: [x], environment: [A]}}", "1:41: environment is a list; write a map"},
    {"agents: {a: {command: [x], environment: {A: }}}", "1:42: A has no value; write \"\""},
    {"agents: {a: {command: [x], environment: {BEELINE_DIR: x}}}", "1:42: BEELINE_DIR is set by"},
    {"agents: {a: {command: [x], environment: {\"A=B\": x}}}", "\"A=B\" is no name of a variable"},
    {"agents: {a: {command: [\"${NOWHERE}\"]}}", "1:24: the variable NOWHERE is not set; set it"},
    {"agents: {a: {command: [\"${A-B}\"]}}", "1:24: \"${A-B}\" names no variable; write ${NAME}"},
    {"agents: {a: {command: [\"${HOME\"]}}", "1:24: \"${HOME\" names no variable"},
    {"agents: {a: [", "hive.yaml:1:1: no YAML: end of sequence flow not found"},
    {"agents: {a: *b}", "hive.yaml:1:13: no YAML: "},
    {"agents: &a {b: *a}", "hive.yaml:1:16: an alias stands inside its own anchor"},
    {"agents: {}\n---\nagents: {}", "a second document begins"},
    {"agents: !!python/object:os.system {}", "hive.yaml:1:9: a tag, "},
    {"agents:\n\ta: {}", "hive.yaml:2:"},
    {"agents: {}\n# \x04 end", "hive.yaml:2:3: the control character 0x04; remove it"},
    {"agents: {}\n# \xff", "hive.yaml:2:1: "},
});

TEST(StewardStartFile, EachMistakeIsToldWithItsPlace) {
  for (const auto& [text, error] : kMistakes) {
    const std::string told = errors(text);
    EXPECT_NE(told.find(error), std::string::npos) << text << "\n  " << told;
    EXPECT_TRUE(told.starts_with("hive.yaml:")) << text << "\n  " << told;
  }
}

TEST(StewardStartFile, AllMistakesAreToldUpToTwenty) {
  std::string text = "agents:\n";
  for (int i = 0; i < 25; ++i) text += "  a" + std::to_string(i) + ": {}\n";
  const std::string told = errors(text);
  EXPECT_EQ(std::ranges::count(told, '\n'), 20);
  EXPECT_NE(told.find("hive.yaml:21:3: \"a19\" has no command"), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("hive.yaml: 5 more mistakes are not shown")) << told;
}

TEST(StewardStartFile, BombsAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += below + (j == 9 ? "]\n" : ", ");
  }
  EXPECT_NE(errors(bomb).find("expands to more than 100000 values"), std::string::npos);
  EXPECT_NE(errors(std::string(500, '[')).find("deeper than 64 levels"), std::string::npos);
  std::string ladder = "- &a0 [x]\n";
  for (int i = 1; i < 99; ++i) {
    ladder += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_NE(errors(ladder).find("deeper than 64 levels"), std::string::npos);
  EXPECT_NE(errors(std::string((1 << 20) + 1, '#')).find("1048577 bytes, at most 1048576"),
            std::string::npos);
  std::string wide = "agents: {";
  for (int i = 0; i < 49'000; ++i) wide += "a" + std::to_string(i) + ": 1, ";
  EXPECT_NE(errors(wide + "}").find("48980 more mistakes are not shown"), std::string::npos);
}

// The file of HiveKernel, shortened: two agents, and keys that have no effect here.
TEST(StewardStartFile, HiveKernelsFileIsReadAsItIs) {
  const auto file = read(R"({
  "agents": [
    {
      "name": "queen",
      "role": "daemon",
      "cognitive_tier": "tactical",
      "model": "sonnet",
      "runtime_type": "RUNTIME_PYTHON",
      "runtime_image": "hivekernel_sdk.queen:QueenAgent"
    },
    {
      "name": "maid@local",
      "runtime_type": "RUNTIME_CLAW",
      "runtime_image": "picoclaw",
      "claw_config": {"env": {"KEY": "${KEY}"}},
      "cron": [{"name": "check", "expression": "*/30 * * * *", "params": {"repos": "[\"a\/b\"]"}}]
    }
  ],
  "version": 2
})");
  ASSERT_TRUE(file) << file.error().text;
  ASSERT_EQ(file->agents.size(), 2U);
  const SpawnOptions& queen = file->agents[0].options;
  EXPECT_EQ(queen.command,
            (std::vector<std::string>{"python3", "-m", "beeline.hive.runner", "--agent",
                                      "hivekernel_sdk.queen:QueenAgent"}));
  EXPECT_EQ(queen.name + queen.role + queen.tier + queen.model, "queendaemontacticalsonnet");
  const SpawnOptions& maid = file->agents[1].options;
  EXPECT_EQ(maid.command, std::vector<std::string>{"picoclaw"});
  EXPECT_EQ(maid.role + maid.tier + maid.model + maid.restart, "daemonoperationalminialways");
  EXPECT_EQ(file->warnings,
            (std::vector<std::string>{
                "hive.yaml:14:24: the program picoclaw must attach to the hive by itself, as an "
                "agent of Beeline",
                "hive.yaml:15:7: the key \"claw_config\" of an agent has no effect",
                "hive.yaml:16:7: the key \"cron\" of an agent has no effect",
                "hive.yaml:19:3: the key \"version\" of the file has no effect"}));
}

TEST(StewardStartFile, MistakesOfHiveKernelsFileAreTold) {
  const std::string told = errors(R"({"agents": [
{"role": "daemon", "runtime_image": "a:B"},
{"name": "a", "runtime_image": ""},
{"name": "b", "runtime_image": "x", "runtime_type": "wasm"},
{"name": "b", "runtime_image": "x", "role": "kernel", "cognitive_tier": 1}, 5]})");
  for (const std::string_view each :
       {"hive.yaml:2:1: an agent has no name", "hive.yaml:3:1: \"a\" has no runtime_image",
        "hive.yaml:4:53: runtime_type is \"wasm\"", "hive.yaml:5:45: role is \"kernel\"",
        "hive.yaml:5:73: cognitive_tier is \"1\"",
        "hive.yaml:5:10: an agent \"b\" stands in line 4", "hive.yaml:5:77: an agent is a text"}) {
    EXPECT_NE(told.find(each), std::string::npos) << each << "\n" << told;
  }
}

TEST(StewardStartFile, TheExampleIsSound) {
  const std::string folder = std::string(std::getenv("BEELINE_SOURCE")) + "/examples";
  std::stringstream text;
  text << std::ifstream(folder + "/hive.yaml").rdbuf();
  const auto file = read_start_file({text.str(), "hive.yaml", folder, variable});
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_EQ(file->agents.size(), 3U);
}

}  // namespace
}  // namespace beeline::steward::test
