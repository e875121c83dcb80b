#pragma once
// A hive for each test, used only through the `beeline` program.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/program.h"

namespace beeline::test {

using nlohmann::json;

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "cli-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    directory_ = folder_ + "/hive";
    ASSERT_EQ(::setenv("BEELINE_DIR", directory_.c_str(), 1), 0);
    // Scratch hives of the programs under test lie here as well.
    ASSERT_EQ(::setenv("TMPDIR", folder_.c_str(), 1), 0);
    ::unsetenv("BEELINE_HIVE");
    ::unsetenv("BEELINE_MAX_PAYLOAD");
  }

  void TearDown() override {
    if (is_up()) {
      expect_balance();
      EXPECT_EQ(beeline({"down"}).code, 0);
    }
    // Children that are killed with their parent end a moment after it.
    for (int i = 0; i < 3000 && !processes_with("TMPDIR", folder_).empty(); ++i) ::usleep(10'000);
    EXPECT_EQ(processes_with("TMPDIR", folder_), std::vector<pid_t>());
    ::unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }

  static std::vector<std::string> with_program(std::vector<std::string> words) {
    words.insert(words.begin(), "beeline");
    return words;
  }
  static Outcome beeline(std::vector<std::string> words, const std::string& input = "") {
    return run(with_program(std::move(words)), input);
  }
  // The stderr of the first command, without the line that it has started the hive.
  static std::string rest_of(const std::string& err) {
    const bool has_started =
        err.starts_with("beeline: started hive ") || err.starts_with("{\"remark\":\"started hive ");
    return has_started ? err.substr(err.find('\n') + 1) : err;
  }
  // Runs it, expects exit code 0 and nothing on stderr, and returns stdout.
  static std::string good(std::vector<std::string> words, const std::string& input = "") {
    const Outcome outcome = beeline(std::move(words), input);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(rest_of(outcome.err), "");
    return outcome.out;
  }
  static json good_json(std::vector<std::string> words, const std::string& input = "") {
    words.emplace_back("--json");
    const std::string out = good(std::move(words), input);
    json parsed = json::parse(out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << out;
    return parsed;
  }
  // Runs it, expects this exit code, nothing on stdout, and returns stderr.
  static std::string bad(int code, std::vector<std::string> words) {
    const Outcome outcome = beeline(std::move(words));
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
    return outcome.err;
  }

  // Makes an agent that is away: its inbox waits for the next attach. It sends once, to an agent
  // that does not exist, because that needs no wait.
  static void make_away(const std::string& name, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"send", "not-there", "x", "--as", name, "--keep"};
    words.insert(words.end(), options.begin(), options.end());
    (void)bad(4, words);
  }

  static void wait_for_agent(const std::string& name) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const Outcome tree = beeline({"tree", "--json"});
      if (tree.code == 0 && is_running(json::parse(tree.out, nullptr, false), name)) return;
      ASSERT_LT(std::chrono::steady_clock::now(), end) << name << " did not come: " << tree.out;
      ::usleep(2000);
    }
  }

  // Waits for a file that a program under test makes in the folder, which is its $TMPDIR.
  void wait_for_file(const std::string& name) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!std::filesystem::exists(folder_ + '/' + name)) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << name << " did not come";
      ::usleep(2000);
    }
  }

  [[nodiscard]] bool is_up() const { return std::filesystem::exists(directory_ + "/socket"); }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string folder_;
  std::string directory_;

 private:
  // For every inbox: accepted = in lanes + queued + leased + done + dead + purged. REQUIRES: the
  // agents and programs of the test have ended or stand still.
  static void expect_balance() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      const Outcome status = beeline({"status", "--json"});
      const json parsed = json::parse(status.out, nullptr, false);
      const bool told = status.code == 0 && parsed.contains("inboxes");
      if (told && is_balanced(parsed.at("inboxes"))) return;
      if (std::chrono::steady_clock::now() < end) continue;
      ADD_FAILURE() << "the balance of an inbox: " << status.out << status.err;
      return;
    }
  }
  static bool is_balanced(const json& inboxes) {
    return inboxes.is_array() && std::all_of(inboxes.begin(), inboxes.end(), [](const json& inbox) {
             return inbox.at("balanced") == true;
           });
  }
  static bool is_running(const json& nodes, const std::string& name) {
    for (const json& node : nodes) {
      if (node.at("name") == name && node.at("attached") == true) return true;
      if (is_running(node.at("children"), name)) return true;
    }
    return false;
  }
};

// Each line of a text of JSON lines, parsed.
inline std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(json::parse(text.substr(begin, end - begin), nullptr, false));
    EXPECT_FALSE(lines.back().is_discarded()) << text;
  }
  return lines;
}

}  // namespace beeline::test
