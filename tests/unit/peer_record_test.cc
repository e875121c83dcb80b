// The records of the owners of in-links.

#include "src/agent/peer_records.h"
#include "tests/unit/receiver_peers.h"

namespace beeline {
namespace {

using shm::AgentState;

constexpr shm::Incarnation kLife{1000};
constexpr std::uint32_t kPlace = 3;

class PeerRecordTest : public receive::test::ReceiverTest {
 protected:
  PeerRecordTest()
      : memory_(receive::test::must(segment::Owned::create(
            "directory", shm::DirectoryLayout::kBytes, shm::DirectoryLayout::kBytes))),
        directory_(memory_.data(), 1, shm::kMinMaxPayload, 1) {}
  // Whether the owner of a new link has ended by this word.
  bool has_ended_by(shm::Incarnation life, AgentState state) {
    receive::InLink& link = *join(next_pid_++, kLife).link;
    PeerRecord owner(link);
    directory_.set_word(kPlace, {life, state});
    owner.place(directory_.view(), kPlace);
    owner.watch_owner();
    return link.owner_gone();
  }

  segment::Owned memory_;
  shm::DirectoryWriter directory_;
  std::uint32_t next_pid_ = 100;
};

TEST_F(PeerRecordTest, TheWordOfAnOwnerSaysWhetherItHasEnded) {
  EXPECT_FALSE(has_ended_by(kLife, AgentState::kRunning));
  EXPECT_FALSE(has_ended_by(shm::Incarnation(kLife.value() - 1), AgentState::kRunning))
      << "its life is still to come";
  EXPECT_TRUE(has_ended_by(kLife, AgentState::kStarting)) << "a successor takes over";
  EXPECT_TRUE(has_ended_by(kLife, AgentState::kAway));
  EXPECT_TRUE(has_ended_by(kLife, AgentState::kDead));
  EXPECT_TRUE(has_ended_by(kLife + 1, AgentState::kRunning));
  EXPECT_TRUE(has_ended_by(shm::kNoIncarnation, AgentState::kVacant));
}

TEST_F(PeerRecordTest, AnOwnerWithoutAPlaceIsNotSeenToEnd) {
  receive::InLink& link = *join(100).link;
  PeerRecord owner(link);
  owner.watch_owner();
  EXPECT_FALSE(link.owner_gone());
  EXPECT_DEATH((void)owner.index(), "check failed: has_place()");
  EXPECT_DEATH((void)owner.word(), "check failed: has_place()");
}

TEST_F(PeerRecordTest, APlaceBeyondTheDirectoryIsThatOfTheFinallyDead) {
  receive::InLink& link = *join(100).link;
  PeerRecord owner(link);
  owner.place(directory_.view(), shm::kMaxAgents);
  EXPECT_TRUE(link.owner_gone());
  EXPECT_FALSE(owner.has_place());
  owner.place(directory_.view(), kPlace);
  EXPECT_FALSE(link.owner_gone()) << "another coordinator knows it";
  EXPECT_EQ(owner.index(), kPlace);
}

TEST_F(PeerRecordTest, TheNextCoordinatorNamesThePlaceAgainAndIsToldAgain) {
  PeerRecord owner(*join(100).link);
  owner.place(directory_.view(), kPlace);
  owner.note_reported();
  owner.begin_anew();
  EXPECT_FALSE(owner.has_place());
  EXPECT_FALSE(owner.is_reported());
}

TEST_F(PeerRecordTest, ARecordIsFoundByTheRowOfItsLink) {
  receive::InLink& first = *join(100).link;
  receive::InLink& second = *join(101).link;
  PeerRecords records;
  records.add(PeerRecord(second));
  records.add(PeerRecord(first)).note_tree(7);
  EXPECT_EQ(records.of(first).tree_epoch(), 7U);
  EXPECT_EQ(&records.of(second).link(), &second);
  EXPECT_DEATH(records.add(PeerRecord(first)), "check failed");
  const shm::RowIndex row = first.row();
  ASSERT_TRUE(receiver_->remove(first));
  records.remove(row);
  EXPECT_DEATH(records.remove(row), "check failed");
  receive::InLink& next = *join(102).link;
  ASSERT_EQ(next.row(), row) << "the row is used again";
  EXPECT_EQ(records.add(PeerRecord(next)).tree_epoch(), 0U);
}

}  // namespace
}  // namespace beeline
