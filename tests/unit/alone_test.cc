// The short way of a message that waits alone, and what does not go it.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using shm::Lane;
using test::Peer;

class AloneTest : public test::ReceiverTest {
 protected:
  // The usual way takes what the short one has left.
  std::size_t take_all() {
    receiver_->drain_all();
    return finish_all();
  }
  // Nothing is taken, and nothing of it is to be seen.
  void expect_left(std::size_t messages) {
    EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
    EXPECT_EQ(shm::drained_total(receiver_->home().home()), drained_);
    EXPECT_EQ(receiver_->home().inbox().leased(), 0U);
    EXPECT_EQ(take_all(), messages);
    drained_ += messages;
  }

 private:
  std::uint64_t drained_ = 0;
};

TEST_F(AloneTest, IsLeasedAndCommittedAndItsSenderHearsOfIt) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  const char area[shm::kInlineBytes] = "alone";
  header.length = 5;
  header.rank = shm::kRankCritical;
  peer.publish(header, Lane::kNormal, area);
  const std::uint32_t at = receiver_->take_alone();
  ASSERT_NE(at, shm::kNoEntry);
  const shm::Inbox& inbox = receiver_->home().inbox();
  EXPECT_EQ(receiver_->entry(at).header.id, header.id);
  EXPECT_EQ(receiver_->entry(at).word().state, shm::EntryState::kLeased);
  const auto payload = receiver_->payload(at);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()),
            "alone");
  EXPECT_EQ(peer.receipt(), 1U);
  EXPECT_EQ(shm::drained_total(receiver_->home().home()), 1U);
  EXPECT_EQ(inbox.queued(), 0U);
  EXPECT_EQ(inbox.leased(), 1U);
  EXPECT_EQ(inbox.critical(), 0U);
  EXPECT_EQ(inbox.index().count_nodes(), 0U) << "it would be taken again";
  EXPECT_EQ(peer.link->received, 1U);
  receiver_->requeue(at);
  EXPECT_EQ(receiver_->take(), at) << "it has its place in the order from now on";
  receiver_->done(at);
  EXPECT_EQ(inbox.leased(), 0U);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
}

TEST_F(AloneTest, OfTwoTheOrderDecides) {
  Peer& peer = join(100);
  peer.say_often(2);
  expect_left(2);
  Peer& other = join(101);
  peer.say();
  other.say();
  expect_left(2);
  peer.say();
  peer.say(Lane::kUrgent);
  expect_left(2);
  other.say(Lane::kUrgent);
  expect_left(1);
}

TEST_F(AloneTest, WhatIsMoreThanAPayloadGoesTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.ttl_ms = 60'000;
  peer.publish(header);
  expect_left(1);
  header = peer.sound();
  header.flags = shm::kFlagRequiresAck;
  peer.publish(header);
  expect_left(1);
  peer.show_copy();
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
}

TEST_F(AloneTest, WhatCameThroughTooManyHandsBecomesADeadLetterTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.hops = static_cast<std::uint16_t>(receiver_->home().home().control().max_hops + 1);
  peer.publish(header);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  receiver_->drain_all();
  EXPECT_EQ(receiver_->take(), shm::kNoEntry);
  EXPECT_EQ(receiver_->home().inbox().dead(), 1U);
}

TEST_F(AloneTest, WhatCannotBeIsJudgedTheUsualWay) {
  Peer& peer = join(100);
  shm::MessageHeader header = peer.sound();
  header.length = shm::kInlineBytes + 1;
  peer.publish(header);
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  EXPECT_FALSE(peer.link->quarantined());
  receiver_->drain_all();
  EXPECT_TRUE(peer.link->quarantined());
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
}

TEST_F(AloneTest, ALinkWithARateIsCountedTheUsualWay) {
  Peer& peer = join(100);
  peer.link->rate = std::make_shared<limit::TokenBucket>(limit::kMinRate, 1);
  peer.say();
  expect_left(1);
}

TEST_F(AloneTest, WithoutAnOrdinaryPlaceItWaits) {
  Peer& peer = join(100);
  peer.say_often(test::kOrdinaryRoom);
  receiver_->drain_all();
  for (std::uint32_t i = 0; i < test::kOrdinaryRoom; ++i) {
    ASSERT_NE(receiver_->take(), shm::kNoEntry);
  }
  peer.say();
  EXPECT_EQ(receiver_->take_alone(), shm::kNoEntry);
  EXPECT_EQ(receiver_->home().inbox().leased(), test::kOrdinaryRoom);
}

TEST_F(AloneTest, AmongManyLinksTheTurnsDecide) {
  for (std::uint32_t pid = 101; pid <= 100 + kActiveLinks; ++pid) join(pid);
  join(100).say();
  expect_left(1);
}

}  // namespace
}  // namespace beeline::receive
