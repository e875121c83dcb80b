// The rank of a message as its receiver stores it.

#include <gtest/gtest.h>

#include "src/receive/rank.h"

namespace beeline::receive {
namespace {

shm::AgentRecord record(std::uint32_t pid, std::uint32_t parent, std::uint32_t role = 5) {
  shm::AgentRecord made{};
  made.pid = pid;
  made.parent_pid = parent;
  made.role = role;
  return made;
}

// king 1 - queen 2 - lead 3, lead 4; lead 3 - worker 5.
const shm::AgentRecord kKing = record(1, 0, 0);
const shm::AgentRecord kQueen = record(2, 1);
const shm::AgentRecord kLead = record(3, 2);
const shm::AgentRecord kOtherLead = record(4, 2);
const shm::AgentRecord kWorker = record(5, 3);

TEST(Rank, HK_006_TheRelationIsThatOfTheSenderToTheReceiver) {
  EXPECT_EQ(relation_of(kKing, kWorker), Relation::kSystem);
  EXPECT_EQ(relation_of(kKing, kQueen), Relation::kSystem);
  EXPECT_EQ(relation_of(kQueen, kLead), Relation::kParent);
  EXPECT_EQ(relation_of(kLead, kQueen), Relation::kChild);
  EXPECT_EQ(relation_of(kLead, kOtherLead), Relation::kSibling);
  EXPECT_EQ(relation_of(kLead, kLead), Relation::kSibling) << "HK-038: to itself";
  EXPECT_EQ(relation_of(kQueen, kWorker), Relation::kOther) << "grandparent";
  EXPECT_EQ(relation_of(kWorker, kQueen), Relation::kOther) << "grandchild";
  EXPECT_EQ(relation_of(kOtherLead, kWorker), Relation::kOther) << "uncle";
  EXPECT_EQ(relation_of(record(8, 0), record(9, 0)), Relation::kOther) << "two roots";
}

TEST(Rank, HK_007_TheRelationCanOnlyRaiseTheUrgency) {
  struct Row {
    Relation relation;
    std::int32_t stored[4];  // for 0, 1, 2, 3
  };
  const Row rows[] = {
      {Relation::kSystem, {0, 0, 0, 0}},  {Relation::kParent, {0, 1, 1, 1}},
      {Relation::kSibling, {0, 1, 2, 2}}, {Relation::kChild, {0, 1, 2, 3}},
      {Relation::kOther, {0, 1, 2, 3}},
  };
  for (const Row& row : rows) {
    for (std::int32_t asked = 0; asked < 4; ++asked) {
      EXPECT_EQ(stored_rank(asked, row.relation, false), row.stored[asked])
          << to_string(row.relation) << " " << asked;
    }
  }
}

TEST(Rank, C_02_AnEscalationIsHighAndTheRestIsClamped) {
  for (const Relation relation :
       {Relation::kParent, Relation::kChild, Relation::kSibling, Relation::kOther}) {
    EXPECT_EQ(stored_rank(kLow, relation, true), kHigh);
    EXPECT_EQ(stored_rank(kCritical, relation, true), kCritical);
    EXPECT_EQ(stored_rank(-5, relation, false), kCritical);
    EXPECT_EQ(stored_rank(9, relation, false), base_rank(relation));
  }
  EXPECT_EQ(stored_rank(kLow, Relation::kSystem, true), kCritical);
}

}  // namespace
}  // namespace beeline::receive
