// Routing as a pure function: HK-030 to HK-036, C-05, C-06, C-16.

#include "src/control/routing.h"

#include <gtest/gtest.h>

namespace beeline::control {
namespace {

using shm::AgentState;

// 1 king -> {2 lead -> {3 worker, 4 worker, 5 task, 8 task}, 6 lead -> 7 worker}; 9 stands alone.
Tree hive() {
  Tree tree;
  tree.add({1, 0, "king", Role::kKernel, AgentState::kRunning});
  tree.add({2, 1, "lead", Role::kLead, AgentState::kRunning});
  tree.add({3, 2, "w1", Role::kWorker, AgentState::kRunning});
  tree.add({4, 2, "w2", Role::kWorker, AgentState::kRunning});
  tree.add({5, 2, "t1", Role::kTask, AgentState::kRunning});
  tree.add({6, 1, "other", Role::kLead, AgentState::kRunning});
  tree.add({7, 6, "w3", Role::kWorker, AgentState::kRunning});
  tree.add({8, 2, "t2", Role::kTask, AgentState::kRunning});
  tree.add({9, 0, "loner", Role::kAgent, AgentState::kRunning});
  return tree;
}

void expect_allowed(const Tree& tree, Pid from, Pid to, Rule rule, Pid via) {
  const Verdict verdict = route(tree, from, to);
  EXPECT_TRUE(verdict.allowed) << from << " -> " << to << ": " << verdict.text;
  EXPECT_EQ(to_string(verdict.rule), to_string(rule)) << from << " -> " << to;
  EXPECT_EQ(verdict.via, via) << from << " -> " << to;
  EXPECT_FALSE(verdict.text.empty());
}

void expect_denied(const Tree& tree, Pid from, Pid to, Rule rule, const char* text) {
  const Verdict verdict = route(tree, from, to);
  EXPECT_FALSE(verdict.allowed) << from << " -> " << to;
  EXPECT_EQ(to_string(verdict.rule), to_string(rule)) << from << " -> " << to;
  EXPECT_EQ(verdict.text, text);
}

TEST(Routing, ParentAndChildAreDirect_HK031) {
  const Tree tree = hive();
  expect_allowed(tree, 2, 3, Rule::kChild, 2);
  expect_allowed(tree, 3, 2, Rule::kParent, 2);
}

TEST(Routing, SiblingsMayTalk_HK032) {
  expect_allowed(hive(), 3, 4, Rule::kSibling, 2);
  expect_allowed(hive(), 2, 6, Rule::kSibling, 1);
}

TEST(Routing, OtherBranchesAreReachedWithTheAncestorRecorded_HK034_C05) {
  const Tree tree = hive();
  expect_allowed(tree, 3, 7, Rule::kAncestor, 1);
  expect_allowed(tree, 7, 2, Rule::kAncestor, 1);
  expect_allowed(tree, 1, 7, Rule::kAncestor, 1);  // grandparent
}

TEST(Routing, AnAgentMaySendToItself_HK038) { expect_allowed(hive(), 3, 3, Rule::kSelf, 3); }

TEST(Routing, ATaskSendsToItsParentAlone_HK036_C06) {
  const Tree tree = hive();
  expect_allowed(tree, 5, 2, Rule::kParent, 2);
  expect_denied(tree, 5, 1, Rule::kTaskToParentOnly,
                "task (PID 5) can only send to its parent (PID 2), not PID 1");
  expect_denied(tree, 5, 3, Rule::kTaskToParentOnly,
                "task (PID 5) can only send to its parent (PID 2), not PID 3");
  expect_denied(tree, 5, 8, Rule::kTaskToParentOnly,
                "task (PID 5) can only send to its parent (PID 2), not PID 8");
  expect_denied(tree, 5, 5, Rule::kTaskToParentOnly,
                "task (PID 5) can only send to its parent (PID 2), not PID 5");
}

TEST(Routing, NobodySendsToTheCoordinator) {
  Tree tree = hive();
  tree.add({10, 1, "t3", Role::kTask, AgentState::kRunning});
  for (const Pid from : {1U, 2U, 3U, 10U}) {
    expect_denied(
        tree, from, 1, Rule::kKing,
        "PID 1 is the coordinator and takes no messages: no beeline-steward lay beside "
        "beelined when the hive was started; install it there, then start the hive again");
  }
}

TEST(Routing, AKingThatListensTakesRequestsOfEveryAgent_C10) {
  Tree tree = hive();
  tree.let_king_listen(true);
  for (const Pid from : {2U, 3U, 5U, 7U}) expect_allowed(tree, from, 1, Rule::kKing, 1);
  expect_allowed(tree, 1, 2, Rule::kChild, 1);
  expect_allowed(tree, 1, 3, Rule::kAncestor, 1);
  expect_allowed(tree, 1, 5, Rule::kAncestor, 1);
}

TEST(Routing, ATaskMayBeSentToByItsParentAndOthers) {
  const Tree tree = hive();
  expect_allowed(tree, 2, 5, Rule::kChild, 2);
  expect_allowed(tree, 3, 5, Rule::kSibling, 2);
}

TEST(Routing, ErrorsComeInTheirOrder_HK030) {
  const Tree tree = hive();
  expect_denied(tree, 98, 0, Rule::kNoTarget, "no target specified");
  expect_denied(tree, 98, 99, Rule::kNoSender, "sender PID 98 not found");
  expect_denied(tree, 3, 99, Rule::kNoAgent, "receiver PID 99 not found");
  expect_denied(tree, 5, 9, Rule::kTaskToParentOnly,
                "task (PID 5) can only send to its parent (PID 2), not PID 9");
  expect_denied(tree, 3, 9, Rule::kNoCommonAncestor, "no route from PID 3 to PID 9");
}

TEST(Routing, TheDeadNeitherSendNorReceive_C16) {
  Tree tree = hive();
  tree.set_state(4, AgentState::kDead);
  expect_denied(tree, 3, 4, Rule::kDead, "receiver PID 4 is dead");
  expect_denied(tree, 4, 3, Rule::kDeadSender, "sender PID 4 is dead");
}

TEST(Routing, AgentsThatAreAwayOrNotReadyReceive_C16) {
  Tree tree = hive();
  tree.set_state(4, AgentState::kAway);
  expect_allowed(tree, 3, 4, Rule::kSibling, 2);
  tree.set_state(4, AgentState::kStarting);
  expect_allowed(tree, 3, 4, Rule::kSibling, 2);
}

}  // namespace
}  // namespace beeline::control
