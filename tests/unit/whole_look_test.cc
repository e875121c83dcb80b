// A look to the end of all lanes, so that every message is compared before one is handed out.

#include "tests/unit/receiver_peers.h"

namespace beeline::receive {
namespace {

using test::kOrdinaryRoom;
using test::Peer;

class WholeLookTest : public test::ReceiverTest {};

TEST_F(WholeLookTest, AWholeLookTakesAllThatLiesInAllLanesWhateverATurnTakes) {
  constexpr shm::LinkContract kLong{512, 16, shm::kMinMaxPayload};
  start({}, 2048);
  EXPECT_FALSE(receiver_->links().has_many());
  std::uint32_t said = 0;
  for (std::uint32_t pid = 100; pid < 145; ++pid) {
    const std::uint32_t times = pid < 103 ? 512 : 1;
    join(pid, shm::Incarnation(1000), kLong).say_often(times);
    said += times;
  }
  EXPECT_TRUE(receiver_->links().has_many());
  receiver_->drain_whole();
  EXPECT_EQ(finish_all(), said);
}

// A message that lies deeper in a lane than the table has room for is compared only once it is in
// the table.
TEST_F(WholeLookTest, BehindMoreThanTheTableHasRoomForTheHighestComesAsSoonAsThereIsRoomForIt) {
  constexpr std::uint32_t kBefore = 30;
  Peer& peer = join(100);
  peer.say_often(kBefore);
  shm::MessageHeader high = peer.sound();
  high.rank = kHigh;
  const std::uint64_t id = peer.publish(high);
  std::uint32_t handed_out = 0;
  do {
    receiver_->drain_whole();
    ++handed_out;
  } while (finish_one() != id);
  EXPECT_EQ(handed_out, kBefore + 1 - kOrdinaryRoom + 1);
}

// Each link that waits for room gets one place in turn.
TEST_F(WholeLookTest, TheHighestMessageWaitsForItsTurnsIfSeveralLinksWaitForRoom) {
  constexpr std::uint32_t kLinks = 5;
  constexpr std::uint32_t kBefore = 20;
  std::uint64_t id = 0;
  for (std::uint32_t pid = 100; pid < 100 + kLinks; ++pid) {
    Peer& peer = join(pid);
    peer.say_often(kBefore);
    shm::MessageHeader high = peer.sound();
    high.rank = kHigh;
    if (pid == 100) id = peer.publish(high);
    peer.say_often(5);
  }
  std::uint32_t handed_out = 0;
  do {
    receiver_->drain_whole();
    ++handed_out;
  } while (finish_one() != id);
  EXPECT_LE(handed_out, kLinks * (kBefore + 1) + 1);
}

}  // namespace
}  // namespace beeline::receive
