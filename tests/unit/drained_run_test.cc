// Lanes with many messages: how many one look takes, and how many it leaves.

#include <limits>

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::Peer;

constexpr std::uint64_t kNotDue = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kRun = 16;
constexpr shm::LinkContract kLongLanes{64, 32, shm::kMinMaxPayload};

class DrainedRunTest : public test::ReceiverTest {
 protected:
  DrainedRunTest() {
    start({}, 4096);
    peer_ = &join(100, shm::Incarnation(1000), kLongLanes);
    peer_->link->put_off_end(kNotDue);
  }
  bool look_short() { return receiver_->drain_turn(Reach::kShortOfTheEnd); }
  Peer* peer_ = nullptr;
};

TEST_F(DrainedRunTest, ALookLeavesTheLastFewAndTheNextOneTakesThem) {
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun);
  EXPECT_TRUE(look_short()) << "no run any more, so they are taken one by one";
  EXPECT_EQ(peer_->receipt(), kRun + 4);
  EXPECT_FALSE(look_short());
}

TEST_F(DrainedRunTest, MessagesThatWereLeftAreTheStartOfTheNextRun) {
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(look_short());
  peer_->say_often(kRun - 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 2 * kRun);
}

TEST_F(DrainedRunTest, RunsThatLieBehindEachOtherAreTakenInOneLook) {
  peer_->say_often(3 * kRun + 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 3 * kRun) << "one of 32 and one of 16";
}

TEST_F(DrainedRunTest, AFewAreTakenAsTheyCame) {
  peer_->say_often(kRun - 1);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun - 1);
  EXPECT_EQ(peer_->link->end_due_ticks(), kNotDue) << "only runs put it off";
}

TEST_F(DrainedRunTest, ALookGoesToTheEndWhereThatIsDueAndOnceMoreLater) {
  peer_->link->put_off_end(0);
  peer_->say_often(kRun + 4);
  const std::uint64_t before = os::ticks();
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun + 4);
  EXPECT_GT(peer_->link->end_due_ticks(), before) << "some microseconds after it was seen";
  EXPECT_LT(peer_->link->end_due_ticks(), kNotDue);
}

TEST_F(DrainedRunTest, ATableWithoutRoomShowsNoEnd) {
  start({}, 32);
  Peer& peer = join(100, shm::Incarnation(1000), kLongLanes);
  peer.say_often(31);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer.receipt(), 30U) << "a run of 16, and what there is room for";
  EXPECT_EQ(peer.link->end_due_ticks(), 0U);
}

TEST_F(DrainedRunTest, ALookAtAllLinksLeavesNothing) {
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(receiver_->drain_turn());
  EXPECT_EQ(peer_->receipt(), kRun + 4);
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_EQ(peer_->receipt(), 2 * (kRun + 4));
}

TEST_F(DrainedRunTest, ARunEndsWhereThereIsNoRoom) {
  start({});
  Peer& peer = join(100);
  peer.say_often(kRun + 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer.receipt(), test::kOrdinaryRoom);
  EXPECT_TRUE(receiver_->lacks_room());
  EXPECT_EQ(finish_all(), test::kOrdinaryRoom);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer.receipt(), kRun + 4);
}

TEST_F(DrainedRunTest, NothingBehindTheGapOfARunIsTaken) {
  peer_->say_often(4);
  peer_->positions[0] = kRun - 1;  // no sender leaves a gap
  peer_->say();
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 4U);
  EXPECT_FALSE(look_short());
  peer_->positions[0] = 4;
  peer_->say_often(kRun - 5);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun);
}

TEST_F(DrainedRunTest, NoUrgentMessageIsLeftAndItSaysNothingAboutTheEndOfTheOthers) {
  for (std::uint32_t i = 0; i < kRun + 4; ++i) peer_->say(shm::Lane::kUrgent);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(shm::Lane::kUrgent), kRun + 4);
  peer_->link->put_off_end(0);
  for (std::uint32_t i = 0; i < kRun + 4; ++i) peer_->say(shm::Lane::kUrgent);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->link->end_due_ticks(), 0U);
}

}  // namespace
}  // namespace beeline::receive
