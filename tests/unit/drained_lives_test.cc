// Links of several lives of one agent, or of an agent that has gone: which are drained, and when.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::Peer;

class DrainedLivesTest : public test::ReceiverTest {};

TEST_F(DrainedLivesTest, AnEarlierLifeOfTheSameAgentIsDrainedFirstWhateverLiesBetween) {
  Peer& oldest = join(100, shm::Incarnation(1000));
  join(100, shm::Incarnation(2000));  // the life between sent nothing
  Peer& newest = join(100, shm::Incarnation(3000));
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
  Peer& newest = join(100, shm::Incarnation(3000));
  Peer& oldest = join(100, shm::Incarnation(1000));
  Peer& between = join(100, shm::Incarnation(2000));
  between.counter = 1;  // a life continues the ids of the life before
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
  Peer& mute = join(100, shm::Incarnation(1000));
  Peer& liar = join(100, shm::Incarnation(2000));
  Peer& newest = join(100, shm::Incarnation(3000));
  for (Peer* peer : {&mute, &liar, &newest}) peer->say();
  mute.link->set_may_send(false);
  receiver_->quarantine(*liar.link, "a test says so");
  EXPECT_FALSE(mute.link->open());
  EXPECT_FALSE(liar.link->open());
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_EQ(newest.receipt(), 1U);
  EXPECT_EQ(mute.receipt() + liar.receipt(), 0U);
}

// The life between was passed over when the earlier one came, so the newest waited for none.
TEST_F(DrainedLivesTest, NobodyWaitsForALinkThatCameLateAndIsGone) {
  Peer& between = join(100, shm::Incarnation(2000));
  Peer& newest = join(100, shm::Incarnation(3000));
  close_receipts(*between.link);
  between.link->set_owner_gone(true);
  receiver_->links().arrange(*between.link);
  EXPECT_EQ(receiver_->links().looked_at(), 1U);
  EXPECT_EQ(newest.link->older(), nullptr);
  Peer& oldest = join(100, shm::Incarnation(1000));
  EXPECT_EQ(newest.link->older(), oldest.link);
  EXPECT_EQ(between.link->older(), oldest.link);
  ASSERT_TRUE(receiver_->remove(*oldest.link));
  EXPECT_EQ(newest.link->older(), nullptr);
  EXPECT_EQ(between.link->older(), nullptr);
}

// No honest owner opens two links in one life.
TEST_F(DrainedLivesTest, NobodyWaitsForALinkThatIsGoneWhereALifeHasTwo) {
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<InLink*> links;
  for (const auto& [life, serial] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {1000, 2}, {2000, 2}, {1000, 3}, {2000, 1}, {1000, 1}, {500, 1}}) {
    peers.push_back(std::make_unique<Peer>(100, shm::Incarnation(life), serial));
    peers.back()->own = test::make_link(100, test::kReaderPid, {shm::Incarnation(life), serial});
    links.push_back(test::must(beeline::test::add_in_link(*receiver_, peers.back()->own, 100)));
  }
  for (InLink* link : links) {
    ASSERT_TRUE(receiver_->remove(*link));
    receiver_->links().index().each_of(100,
                                       [&](const InLink& left) { EXPECT_NE(left.older(), link); });
  }
}

// Without a place for receipts the owner could not go on, unless it has gone.
TEST_F(DrainedLivesTest, ALinkWithoutReceiptsIsDrainedOnceItsOwnerIsGone) {
  Peer& peer = join(100);
  const std::uint64_t id = peer.say();
  close_receipts(*peer.link);
  EXPECT_FALSE(peer.link->open());
  EXPECT_FALSE(receiver_->drain_all());
  peer.link->set_owner_gone(true);
  EXPECT_FALSE(peer.link->faded()) << "it holds a message";
  EXPECT_TRUE(receiver_->drain_all());
  EXPECT_FALSE(peer.link->faded()) << "the inbox refers to it";
  EXPECT_EQ(finish_one(), id);
  EXPECT_TRUE(peer.link->faded());
}

}  // namespace
}  // namespace beeline::receive
