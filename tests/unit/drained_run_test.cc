// Lanes through which many messages come: what is taken of them in one look, and what is left.

#include <limits>

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::Peer;

constexpr std::uint64_t kNotDue = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kRun = 16;

class DrainedRunTest : public test::ReceiverTest {
 protected:
  DrainedRunTest() {
    start({}, 4096);
    peer_ = &join(100);
    peer_->link->end_due_ticks = kNotDue;
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

TEST_F(DrainedRunTest, WhatWasLeftIsTheStartOfTheNextRun) {
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(look_short());
  peer_->say_often(kRun - 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 2 * kRun);
}

TEST_F(DrainedRunTest, RunsThatLieBehindEachOtherAreTakenInOneLook) {
  peer_->say_often(2 * kRun);  // all of the lane
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 2 * kRun);
}

TEST_F(DrainedRunTest, AFewAreTakenAsTheyCame) {
  peer_->say_often(kRun - 1);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun - 1);
  EXPECT_EQ(peer_->link->end_due_ticks, kNotDue) << "only runs put it off";
}

TEST_F(DrainedRunTest, ALookGoesToTheEndWhereThatIsDueAndOnceMoreLater) {
  peer_->link->end_due_ticks = 0;
  peer_->say_often(kRun + 4);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun + 4);
  EXPECT_GT(peer_->link->end_due_ticks, 0U);
}

TEST_F(DrainedRunTest, WhoeverLooksAtAllLeavesNothing) {
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

TEST_F(DrainedRunTest, OfARunWithAGapNothingBehindTheGapIsTaken) {
  peer_->say_often(4);
  peer_->positions[0] = kRun - 1;  // no sender leaves one
  peer_->say();
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), 4U);
  EXPECT_FALSE(look_short());
  peer_->positions[0] = 4;
  peer_->say_often(kRun - 5);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(), kRun);
}

TEST_F(DrainedRunTest, OfUrgentMessagesNoneIsLeft) {
  for (std::uint32_t i = 0; i < kRun; ++i) peer_->say(shm::Lane::kUrgent);
  EXPECT_TRUE(look_short());
  for (std::uint32_t i = 0; i < 3; ++i) peer_->say(shm::Lane::kUrgent);
  EXPECT_TRUE(look_short());
  EXPECT_EQ(peer_->receipt(shm::Lane::kUrgent), kRun + 3);
}

}  // namespace
}  // namespace beeline::receive
