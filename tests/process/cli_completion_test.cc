// The completion of command lines: the questions of the scripts, and bash itself with its script.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

using Words = std::vector<std::string>;

class CliCompletion : public CliTest {
 protected:
  // The candidates for the last of these words.
  static Words complete(Words words) {
    words.insert(words.begin(), {"complete", "--"});
    std::istringstream lines(good(std::move(words)));
    Words found;
    for (std::string line; std::getline(lines, line);)
      found.push_back(line.substr(0, line.find('\t')));
    return found;
  }
  static bool has(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

TEST_F(CliCompletion, VerbsOptionsAndTheirValuesAreOffered) {
  EXPECT_EQ(complete({"sen"}), Words{"send"});
  EXPECT_EQ(complete({"--json", "dlq", "re"}), Words{"requeue"});
  EXPECT_FALSE(has(complete({""}), "complete")) << "it is for scripts";
  EXPECT_EQ(complete({"send", "a", "b", "--ran"}), Words{"--rank"});
  EXPECT_EQ(complete({"send", "a", "b", "--jso"}), Words{"--json"}) << "of the program";
  EXPECT_EQ(complete({"bcast", "x", "--chi"}), Words{"--children"}) << "of a group";
  EXPECT_EQ(complete({"send", "a", "b", "--rank", ""}),
            (Words{"critical", "high", "normal", "low"}));
  EXPECT_EQ(complete({"recv", "a", "--role", "arch"}), Words{"architect"});
  EXPECT_EQ(complete({"help", "for"}), Words{"forget"});
  EXPECT_EQ(complete({"completion", ""}), (Words{"bash", "zsh", "fish"}));
  EXPECT_EQ(complete({"send", "a", ""}), Words()) << "a body can be a file";
  EXPECT_EQ(complete({"run", "--", "--jso"}), Words()) << "of another program";
  EXPECT_FALSE(is_up()) << "it has started a hive";
}

TEST_F(CliCompletion, AgentsAreOfferedWhereANameIsWanted) {
  EXPECT_EQ(complete({"send", ""}), Words()) << "there is no hive";
  EXPECT_FALSE(is_up());
  make_away("worker-1");
  make_away("worker-2");
  make_away("boss");
  const Words workers = {"worker-1", "worker-2"};
  for (const Words& words :
       {Words{"send", "w"}, Words{"--json", "request", "w"}, Words{"inbox", "w"},
        Words{"route", "boss", "w"}, Words{"forget", "boss", "w"}, Words{"dlq", "ls", "w"},
        Words{"send", "x", "y", "--as", "w"}, Words{"recv", "x", "--parent", "w"}}) {
    EXPECT_EQ(complete(words), workers) << words.front();
  }
  EXPECT_EQ(complete({"send", "king"}), Words()) << "it is nobody's agent";
  EXPECT_TRUE(has(complete({"tree", "--hive", ""}), "default"));
}

TEST_F(CliCompletion, BashCompletesWithItsScript) {
  make_away("worker-1");
  make_away("wide name");
  const auto in_bash = [](const std::string& line) {
    const std::string script = R"(PATH=$BEELINE_BIN:$PATH
      source <(beeline completion bash)
      complete -p beeline
      COMP_WORDS=()" + line + R"() COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _beeline beeline
      printf '%s\n' "${COMPREPLY[@]}")";
    const Outcome outcome = run({"/bin/bash", "--norc", "-c", script});
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  };
  const std::string registered = "complete -o default -F _beeline beeline\n";
  EXPECT_EQ(in_bash("beeline req"), registered + "request\n");
  EXPECT_EQ(in_bash("beeline send w"), registered + "worker-1\nwide\\ name\n");
  EXPECT_EQ(in_bash("beeline send worker-1 x --ttl"), registered + "--ttl\n");
}

// zsh without its completion system: only the script's own part.
TEST_F(CliCompletion, ZshAndFishCompleteWithTheirScripts) {
  make_away("worker-1");
  make_away("a:b");
  const std::string path = "PATH=" + std::string(std::getenv("BEELINE_BIN")) + ":/usr/bin:/bin";
  struct Shell {
    Words command;
    std::string script;
    std::string expected;
  };
  const std::vector<Shell> shells = {
      {{"/usr/bin/zsh", "-f", "-c"},
       "compdef() { : }; _describe() { print -rl -- ${(P)2} }\n"
       "source <(beeline completion zsh)\nwords=(beeline send \"\") CURRENT=3; _beeline\n",
       "worker-1:agent, zombie\na\\:b:agent, zombie\n"},
      {{"/usr/bin/fish", "--no-config", "-c"},
       "beeline completion fish | source\ncomplete -C 'beeline send '\n",
       "a:b\tagent, zombie\nworker-1\tagent, zombie\n"}};
  for (const Shell& shell : shells) {
    ASSERT_TRUE(std::filesystem::exists(shell.command.front())) << "scripts/setup installs it";
    Words command = {"/usr/bin/env", path};
    command.insert(command.end(), shell.command.begin(), shell.command.end());
    command.push_back(shell.script);
    const Outcome outcome = run(std::move(command));
    EXPECT_EQ(outcome.out, shell.expected) << outcome.err;
  }
}

}  // namespace
}  // namespace beeline::test
