// Links of several lives of one agent, or of one that is gone: which are drained, and when.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::Peer;

class DrainedLivesTest : public test::ReceiverTest {};

TEST_F(DrainedLivesTest, AnEarlierLifeOfTheSameAgentIsDrainedFirstWhateverLiesBetween) {
  Peer& oldest = join(100, 1000);
  join(100, 2000);  // the life between said nothing
  Peer& newest = join(100, 3000);
  const std::uint64_t last = newest.say();
  const std::uint64_t first = oldest.say();
  EXPECT_FALSE(newest.link->open());
  EXPECT_TRUE(receiver_->drain_from(100));  // the oldest first, so one turn takes both
  EXPECT_EQ(oldest.receipt(), 1U);
  EXPECT_EQ(newest.receipt(), 1U);
  EXPECT_EQ(finish_one(), first);
  EXPECT_EQ(finish_one(), last);
}

TEST_F(DrainedLivesTest, AnEarlierLifeIsDrainedFirstAlsoIfItsLinkCameLater) {
  start({.policy = shm::OrderPolicy::kFifo});
  Peer& newest = join(100, 3000);
  Peer& oldest = join(100, 1000);
  Peer& between = join(100, 2000);
  between.counter = 1;  // a life goes on with the ids of the one before
  newest.counter = 2;
  const std::uint64_t last = newest.say();
  const std::uint64_t second = between.say();
  const std::uint64_t first = oldest.say();
  while (receiver_->drain_all()) {
  }
  EXPECT_EQ(finish_one(), first);
  EXPECT_EQ(finish_one(), second);
  EXPECT_EQ(finish_one(), last);
}

TEST_F(DrainedLivesTest, AnEarlierLifeThatMayNotSendOrHasLiedHoldsNobodyUp) {
  Peer& mute = join(100, 1000);
  Peer& liar = join(100, 2000);
  Peer& newest = join(100, 3000);
  for (Peer* peer : {&mute, &liar, &newest}) peer->say();
  mute.link->may_send = false;
  receiver_->quarantine(*liar.link, "a test says so");
  EXPECT_FALSE(mute.link->open());
  EXPECT_FALSE(liar.link->open());
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_EQ(newest.receipt(), 1U);
  EXPECT_EQ(mute.receipt() + liar.receipt(), 0U);
}

// Without a place for receipts its owner could not go on, unless it is gone.
TEST_F(DrainedLivesTest, ALinkWithoutReceiptsIsDrainedOnceItsOwnerIsGone) {
  Peer& peer = join(100);
  const std::uint64_t id = peer.say();
  receiver_->close_receipts(*peer.link);
  EXPECT_FALSE(peer.link->open());
  EXPECT_FALSE(receiver_->drain_all());
  peer.link->owner_gone = true;
  EXPECT_FALSE(peer.link->faded()) << "it holds a message";
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_FALSE(peer.link->faded()) << "the inbox refers to it";
  EXPECT_EQ(finish_one(), id);
  EXPECT_TRUE(peer.link->faded());
}

}  // namespace
}  // namespace beeline::receive
