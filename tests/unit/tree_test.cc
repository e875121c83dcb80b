// The tree as values: HK-006, HK-035, HK-100, HK-101, HK-102, HK-113.

#include "src/control/tree.h"

#include <gtest/gtest.h>

#include <vector>

namespace beeline::control {
namespace {

using Pids = std::vector<Pid>;

AgentNode node(Pid pid, Pid parent, const char* name = "", Role role = Role::kAgent) {
  return {pid, parent, name, role, shm::AgentState::kRunning};
}

// 1 king -> 2 -> {4, 5}, 3 -> 6; 4 -> 7
Tree two_branches() {
  Tree tree;
  tree.add(node(1, 0, "king", Role::kKernel));
  tree.add(node(2, 1, "left"));
  tree.add(node(3, 1, "right"));
  tree.add(node(4, 2, "a"));
  tree.add(node(5, 2, "b"));
  tree.add(node(6, 3, "c"));
  tree.add(node(7, 4, "d"));
  return tree;
}

TEST(Tree, KnowsChildrenSiblingsAndAncestors) {
  const Tree tree = two_branches();
  EXPECT_EQ(tree.children(1), (Pids{2, 3}));
  EXPECT_EQ(tree.children(7), Pids{});
  EXPECT_EQ(tree.siblings(4), Pids{5});
  EXPECT_EQ(tree.siblings(1), Pids{});
  EXPECT_EQ(tree.ancestors(7), (Pids{4, 2, 1}));
  EXPECT_EQ(tree.ancestors(99), Pids{});
}

TEST(Tree, RefusesARecordThatWouldMakeACircleOrADuplicate) {
  Tree tree = two_branches();
  EXPECT_FALSE(tree.add(node(0, 0)));
  EXPECT_FALSE(tree.add(node(2, 1)));
  EXPECT_FALSE(tree.add(node(8, 8)));
  EXPECT_FALSE(tree.add(node(8, 9)));
  EXPECT_EQ(tree.size(), 7U);
}

TEST(Tree, FindsTheNewestHolderOfANameAfterTheOlderIsRemoved_HK101) {
  Tree tree = two_branches();
  tree.add(node(8, 1, "dup"));
  tree.add(node(9, 1, "dup"));
  EXPECT_EQ(tree.find_name("dup")->pid, 9U);
  tree.remove(8);
  ASSERT_NE(tree.find_name("dup"), nullptr);
  EXPECT_EQ(tree.find_name("dup")->pid, 9U);
  tree.remove(9);
  EXPECT_EQ(tree.find_name("dup"), nullptr);
}

TEST(Tree, FindsTheOlderHolderOfANameAfterTheNewestIsRemoved_HK101) {
  Tree tree = two_branches();
  tree.add(node(8, 1, "dup"));
  tree.add(node(9, 1, "dup"));
  tree.remove(9);
  EXPECT_EQ(tree.find_name("dup")->pid, 8U);
}

TEST(Tree, APidAloneOrANameThenAShortNameIsResolved_HK072) {
  Tree tree = two_branches();
  const auto resolved = [&](const char* asked) {
    const AgentNode* node = tree.resolve(asked, 0);
    return node == nullptr ? kNoPid : node->pid;
  };
  EXPECT_EQ(resolved("a"), 4U);
  EXPECT_EQ(resolved("4"), 4U);
  EXPECT_EQ(resolved("nobody"), kNoPid);
  EXPECT_EQ(resolved(""), kNoPid);
  EXPECT_EQ(resolved("0"), kNoPid);
  EXPECT_EQ(resolved("99"), kNoPid);
  tree.add(node(8, 1, "queen@vps1"));
  tree.add(node(9, 1, "queen@vps2"));
  tree.add(node(10, 1, "queens"));
  tree.add(node(11, 1, "@vps"));
  tree.add(node(12, 1, "4@vps"));
  EXPECT_EQ(resolved("queen"), 9U) << "the newest";
  EXPECT_EQ(resolved("queen@vps1"), 8U);
  EXPECT_EQ(resolved("quee"), kNoPid);
  EXPECT_EQ(resolved("queen@"), kNoPid);
  EXPECT_EQ(resolved(""), kNoPid);
  EXPECT_EQ(resolved("4"), 4U) << "a number is no short name";
  tree.set_state(9, shm::AgentState::kDead);
  EXPECT_EQ(resolved("queen"), 8U) << "the dead come last";
  tree.add(node(13, 1, "queen"));
  EXPECT_EQ(resolved("queen"), 13U) << "an exact name goes first";
  tree.set_state(13, shm::AgentState::kDead);
  EXPECT_EQ(resolved("queen"), 8U) << "one that is not dead goes before";
  tree.set_state(8, shm::AgentState::kDead);
  EXPECT_EQ(resolved("queen"), 13U) << "nobody else is left";
  tree.add(node(14, 1, "4"));
  EXPECT_EQ(resolved("4"), 4U) << "a number is a pid and never a name";
  tree.add(node(15, 1, "99"));
  EXPECT_EQ(resolved("99"), kNoPid);
  EXPECT_EQ(resolved("99999999999"), kNoPid);
}

// A10
TEST(Tree, AShortNameNeverFindsTheAgentOfAnotherUser) {
  Tree tree = two_branches();
  AgentNode evil = node(8, 1, "queen@evil");
  evil.uid = 1001;
  tree.add(evil);
  EXPECT_EQ(tree.resolve("queen", 1000), nullptr);
  EXPECT_EQ(tree.resolve("queen", 0), nullptr);
  EXPECT_EQ(tree.resolve("queen", 1001)->pid, 8U);
  EXPECT_EQ(tree.resolve("queen@evil", 1000)->pid, 8U) << "whoever is named whole is meant";
}

TEST(Tree, PrefersALivingHolderOfANameToADeadOne) {
  Tree tree = two_branches();
  tree.add(node(8, 1, "dup"));
  tree.add(node(9, 1, "dup"));
  tree.set_state(9, shm::AgentState::kDead);
  EXPECT_EQ(tree.find_name("dup")->pid, 8U);
  tree.set_state(8, shm::AgentState::kDead);
  EXPECT_EQ(tree.find_name("dup")->pid, 9U);
}

TEST(Tree, GivesTheChildrenOfARemovedNodeToItsParent_HK113) {
  Tree tree = two_branches();
  EXPECT_TRUE(tree.remove(2));
  EXPECT_FALSE(tree.remove(2));
  EXPECT_EQ(tree.children(1), (Pids{3, 4, 5}));
  EXPECT_EQ(tree.ancestors(7), (Pids{4, 1}));
}

TEST(Tree, FindsTheNearestCommonAncestor_HK035) {
  const Tree tree = two_branches();
  EXPECT_EQ(tree.nearest_common_ancestor(4, 6), 1U);
  EXPECT_EQ(tree.nearest_common_ancestor(4, 5), 2U);
  EXPECT_EQ(tree.nearest_common_ancestor(4, 2), 2U);
  EXPECT_EQ(tree.nearest_common_ancestor(2, 7), 2U);
  EXPECT_EQ(tree.nearest_common_ancestor(5, 5), 5U);
  EXPECT_EQ(tree.nearest_common_ancestor(5, 99), std::nullopt);
}

TEST(Tree, HasNoCommonAncestorOfTwoRoots_HK035) {
  Tree tree = two_branches();
  tree.add(node(8, 0, "root"));
  EXPECT_EQ(tree.nearest_common_ancestor(8, 4), std::nullopt);
}

TEST(Roles, HaveTheNumbersAndWordsOf_HK102) {
  EXPECT_EQ(static_cast<int>(Role::kKernel), 0);
  EXPECT_EQ(static_cast<int>(Role::kTask), 6);
  for (std::size_t i = 0; i < kRoleWords.size(); ++i) {
    EXPECT_EQ(role_from(kRoleWords[i]), static_cast<Role>(i));
    EXPECT_EQ(to_string(static_cast<Role>(i)), kRoleWords[i]);
  }
  EXPECT_EQ(role_from("boss"), std::nullopt);
}

}  // namespace
}  // namespace beeline::control
