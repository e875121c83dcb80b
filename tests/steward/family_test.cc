#include "src/steward/family.h"

#include <gtest/gtest.h>

#include "src/steward/caller.h"

namespace beeline::steward {
namespace {

AgentInfo agent(Pid pid, Pid parent, const std::string& name, State state = State::kIdle) {
  AgentInfo info;
  info.pid = pid;
  info.parent = parent;
  info.name = name;
  info.role = "lead";
  info.state = state;
  return info;
}

class StewardFamily : public testing::Test {
 protected:
  StewardFamily() {
    family_.replace({agent(1, 0, "king"), agent(2, 1, "a"), agent(3, 2, "b"), agent(4, 3, "c"),
                     agent(5, 1, "a", State::kZombie)});
  }
  Family family_;
};

TEST_F(StewardFamily, ANameMeansAnAgentWithAProcessFirst) {
  EXPECT_EQ(family_.find("a")->pid, 2U);
  EXPECT_EQ(family_.find("4")->pid, 4U);
  EXPECT_EQ(family_.find("nobody"), nullptr);
}

TEST_F(StewardFamily, LevelsGoFromTheChildrenDown) {
  const std::vector<std::vector<Pid>> levels{{3}, {4}};
  EXPECT_EQ(family_.levels_below(2), levels);
  EXPECT_TRUE(family_.is_below(4, 2));
  EXPECT_FALSE(family_.is_below(2, 4));
  EXPECT_FALSE(family_.is_below(2, 2));
}

TEST_F(StewardFamily, OrphansBelongToTheParentOfTheirParent) {
  LifeEvent event;
  event.kind = LifeEvent::Kind::kRemoved;
  event.pid = 3;
  family_.follow(event);
  EXPECT_EQ(family_.find(4)->parent, 2U);
  EXPECT_EQ(family_.children_of(2), std::vector<Pid>{4});
}

TEST_F(StewardFamily, AListThatIsOlderThanAChangeDoesNotUndoIt) {
  family_.expect_list();
  family_.add({.pid = 6,
               .parent = 2,
               .name = "reserved",
               .role = "lead",
               .is_complete = true,
               .state = State::kZombie});
  LifeEvent event;
  event.kind = LifeEvent::Kind::kReady;
  event.pid = 6;
  event.parent = 2;
  family_.follow(event);
  event.kind = LifeEvent::Kind::kDied;
  event.pid = 3;
  family_.follow(event);
  family_.remove(4);
  const std::vector<AgentInfo> old{agent(1, 0, "king"), agent(2, 1, "a"), agent(3, 2, "b"),
                                   agent(4, 3, "c")};
  family_.replace(old);
  ASSERT_NE(family_.find(6), nullptr);
  EXPECT_TRUE(family_.find(6)->is_complete);
  EXPECT_TRUE(family_.find(6)->was_ready);
  EXPECT_TRUE(family_.find(6)->has_process());
  EXPECT_FALSE(family_.find(3)->has_process());
  EXPECT_EQ(family_.find(4), nullptr);
  EXPECT_EQ(family_.find(5), nullptr) << "the list says so";
  // The changes are in the next list.
  family_.expect_list();
  family_.replace(old);
  EXPECT_EQ(family_.find(6), nullptr);
}

TEST_F(StewardFamily, OnlyACommandOfTheHivesUserIsAnOperator) {
  EXPECT_FALSE(Caller::find(family_, 9));
  AgentInfo command = agent(7, 1, "agent-7");
  command.temporary = true;
  AgentInfo stranger = command;
  stranger.pid = 8;
  stranger.uid = 4'000'000;
  AgentInfo below = command;
  below.pid = 9;
  below.parent = 2;
  family_.replace({command, stranger, below, agent(2, 1, "a"), agent(3, 2, "b")});
  EXPECT_TRUE(Caller::find(family_, 7)->is_operator);
  EXPECT_FALSE(Caller::find(family_, 8)->is_operator);
  EXPECT_FALSE(Caller::find(family_, 9)->is_operator);
  EXPECT_TRUE(Caller::find(family_, 7)->owns(family_, 3));
  EXPECT_FALSE(Caller::find(family_, 7)->owns(family_, 1));
  EXPECT_FALSE(Caller::find(family_, 3)->owns(family_, 2));
  EXPECT_TRUE(Caller::find(family_, 2)->owns(family_, 3));
}

}  // namespace
}  // namespace beeline::steward
