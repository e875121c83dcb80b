#pragma once
// A hive of its own for each test, with a steward, and an agent `boss` that spawns children.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "tests/steward/hive_guard.h"

namespace beeline::steward::test {

using namespace std::chrono_literals;

inline constexpr auto kPatience = 60s;

class StewardTest : public testing::Test {
 protected:
  StewardTest();
  // Takes the hive down; fails the test if a process is left.
  ~StewardTest() override;

  [[nodiscard]] Agent& boss() { return *boss_; }
  [[nodiscard]] Processes processes() { return boss_->processes(); }
  // A spawn of steward-child with these arguments.
  [[nodiscard]] static SpawnOptions child(const std::string& name,
                                          const std::vector<std::string>& arguments = {"serve"});
  // Spawns it, or fails the test.
  Pid spawn(const SpawnOptions& options);
  // Its answer to a text.
  [[nodiscard]] std::string ask(const std::string& name, const std::string& text);
  // The answer of pid 1 to a request of this type.
  [[nodiscard]] std::string ask_king(const std::string& type, const std::string& json);
  // The next message of this type.
  [[nodiscard]] std::string next_text(const std::string& type);
  // Waits for the end of a child and returns it; an invalid one fails the test.
  [[nodiscard]] ChildExit wait(Pid child);
  // The child of this name as pid 1 lists it.
  [[nodiscard]] std::optional<ChildInfo> listed(const std::string& name);
  // The lines of the ledger of the children.
  [[nodiscard]] std::vector<std::string> ledger() const;
  // The steward's process, as soon as there is one.
  [[nodiscard]] pid_t steward() const;
  // Takes the hive down before the end of the test.
  void take_down();
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  std::string root_;
  std::string directory_;
  std::optional<HiveGuard> guard_;
  std::optional<Agent> boss_;
  bool is_down_ = false;
};

}  // namespace beeline::steward::test
