// Agents of several users, their names and inboxes: a message for an absent agent of another user
// reaches nobody else, and only the user of the hive lists inboxes from outside.

#include <optional>
#include <string>

#include <beeline/inbox.h>

#include "tests/process/other_uid_fixture.h"

namespace beeline::test {
namespace {

BEELINE_ROLE(impostor) {
  auto& board = context.board<UidBoard>();
  become(kAttackerUser, {kGroup});
  for (const char* number : {"2", "02"}) {
    const auto refused = Agent::attach(without_start(number));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << refused.error().text;
  }
  auto agent = Agent::attach(without_start("ghost@evil"));
  ASSERT_TRUE(agent) << agent.error().text;
  EXPECT_TRUE(agent->peer("ghost")) << "its own user finds it";
  board.attack_begins.raise();
  EXPECT_TRUE(board.attack_may_end.await(1, patience()));
}

// A10
TEST_F(OtherUserTest, AShortNameDoesNotFindAnAgentOfAnotherUser) {
  auto& there = board<UidBoard>();
  const std::size_t impostor = troupe().start("impostor");
  ASSERT_TRUE(there.attack_begins.await(1, patience()));
  auto own = attach("friend@here");
  ASSERT_TRUE(own);
  for (const bool is_new : {false, true}) {
    if (is_new) replace_coordinator();
    EXPECT_TRUE(queen_->find("ghost@evil")) << "whoever is named whole is found";
    EXPECT_EQ(queen_->find("friend")->pid, own->pid());
    EXPECT_EQ(peer_of(*queen_, "friend").pid, own->pid());
    const auto found = queen_->find("ghost");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kNoAgent) << found.error().text;
    const auto peer = queen_->peer("ghost");
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code, ErrorCode::kNoAgent) << peer.error().text;
    const auto child = Agent::attach(named("child", "ghost"));
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, ErrorCode::kNoAgent) << child.error().text;
  }
  there.attack_may_end.raise();
  troupe().wait(impostor, patience());
}

BEELINE_ROLE(onlooker) {
  become(kAttackerUser, {kGroup});
  auto agent = Agent::attach(without_start("onlooker"));
  ASSERT_TRUE(agent) << agent.error().text;
  for (const char* name : {"onlooker", "victim"}) {
    const auto inbox = look_into_inbox(name);
    ASSERT_FALSE(inbox) << name;
    EXPECT_EQ(inbox.error().code, ErrorCode::kDenied) << inbox.error().text;
  }
}

TEST_F(OtherUserTest, OnlyTheUserOfTheHiveListsTheInboxesOfOthers) {
  troupe().wait(troupe().start("onlooker"), patience());
  const auto inbox = look_into_inbox("heir");
  ASSERT_TRUE(inbox) << inbox.error().text;
  EXPECT_EQ(inbox->length, 1U);
}

}  // namespace
}  // namespace beeline::test
