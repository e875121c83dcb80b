// The steps from the agents that run to those of a start file.

#include "src/steward/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace beeline::steward::test {
namespace {

using Life = PresentChild::Life;

constexpr std::string_view kFile = R"(agents:
  queen: {command: [q], role: lead, children: {w1: {command: [w]}, w2: {command: [w]}}}
  scout: {command: [s]}
)";

StartFile file_of(std::string text) {
  auto file = read_start_file({text, "f", "/d", {}});
  EXPECT_TRUE(file) << file.error().text;
  return *file;
}

// All agents of the file, running.
std::vector<PresentChild> running(const StartFile& file) {
  std::vector<PresentChild> present;
  for (const auto& [options, line] : file.agents) {
    present.push_back({options.name, options.parent, spec_of(options), Life::kAlive});
  }
  return present;
}

// "end w1; restart scout; start queen w1; same 2"
std::string steps(const StartFile& file, const std::vector<PresentChild>& present) {
  const auto plan = plan_start(file, present);
  if (!plan) return plan.error().text;
  std::string text = "end";
  for (const auto& name : plan->end) text += " " + name;
  text += "; restart";
  for (const std::size_t i : plan->restart) text += " " + file.agents[i].options.name;
  text += "; start";
  for (const std::size_t i : plan->start) text += " " + file.agents[i].options.name;
  return text + "; same " + std::to_string(plan->same);
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kFile);
  return text.replace(text.find(from), from.size(), to);
}

// The steps from the file to another text.
std::string change(std::string_view from, std::string_view to) {
  return steps(file_of(with(from, to)), running(file_of(std::string(kFile))));
}

TEST(StewardPlan, ANewHiveStartsAllParentsFirst) {
  EXPECT_EQ(steps(file_of(std::string(kFile)), {}),
            "end; restart; start queen w1 w2 scout; same 0");
}

TEST(StewardPlan, ASecondApplyChangesNothing) {
  const StartFile file = file_of(std::string(kFile));
  EXPECT_EQ(steps(file, running(file)), "end; restart; start; same 4");
  EXPECT_TRUE(plan_start(file, running(file))->is_empty());
}

TEST(StewardPlan, AChangeRestartsThatAgentAlone) {
  for (const std::string_view more : {"grace: 1s", "model: x", "environment: {A: b}",
                                      "limits: {memory: 1G}", "restart: never", "directory: x"}) {
    EXPECT_EQ(change("{command: [s]}", "{command: [s], " + std::string(more) + "}"),
              "end; restart scout; start; same 3")
        << more;
  }
  EXPECT_EQ(change("[q]", "[q, -v]"), "end; restart queen; start; same 3");
}

TEST(StewardPlan, AnAgentThatLeftTheFileIsEndedAfterItsDescendants) {
  EXPECT_EQ(change("  scout: {command: [s]}\n", ""), "end scout; restart; start; same 3");
  const StartFile before = file_of(std::string(kFile));
  EXPECT_EQ(steps(file_of("agents: {scout: {command: [s]}}"), running(before)),
            "end w1 w2 queen; restart; start; same 1");
}

TEST(StewardPlan, AnAgentOfAnotherParentRoleOrUserIsMadeAnew) {
  EXPECT_EQ(change("{command: [s]}", "{command: [s], uid: 5}"),
            "end scout; restart; start scout; same 3");
  EXPECT_EQ(change("role: lead", "role: lead, tier: tactical"), "end; restart; start; same 4");
  // Its children end with it.
  EXPECT_EQ(change("role: lead", "role: agent"),
            "end w1 w2 queen; restart; start queen w1 w2; same 1");
}

TEST(StewardPlan, AnEndedAgentStartsAgainUnlessItFinished) {
  const StartFile file = file_of(std::string(kFile));
  auto present = running(file);
  present[1].life = Life::kFailed;
  present[2].life = Life::kFinished;
  EXPECT_EQ(steps(file, present), "end; restart; start w1; same 3");
  const StartFile changed = file_of(with("w2: {command: [w]", "w2: {command: [w, x]"));
  EXPECT_EQ(steps(changed, present), "end; restart; start w1 w2; same 2");
}

TEST(StewardPlan, AgentsThatOthersSpawnedAreLeftAlone) {
  const StartFile file = file_of(std::string(kFile));
  auto present = running(file);
  present.push_back({"guest", "queen", "", Life::kAlive});
  EXPECT_EQ(steps(file, present), "end; restart; start; same 4");
  present.push_back({"scout", "queen", "", Life::kAlive});
  present[3].life = Life::kFailed;
  const auto plan = plan_start(file, present);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kAlreadyRunning);
  EXPECT_NE(plan.error().text.find("line 3: the name \"scout\" belongs to an agent"),
            std::string::npos)
      << plan.error().text;
}

}  // namespace
}  // namespace beeline::steward::test
